"""Reads what a newer broker says beyond what kio knows: tagged fields that are new (KIP-482), error codes that are new.

kio refuses both. This is the slow way, in plain Python, for such messages alone. Their bounds have been checked.
"""

from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from types import NoneType
from typing import Any, Final, get_args, get_origin

from kio.serial import readers

from replication.protocol.error_code import code_of

_FIXED: Final[Mapping[str, readers.Reader[Any]]] = {
    "bool": readers.read_boolean,
    "int8": readers.read_int8,
    "int16": readers.read_int16,
    "int32": readers.read_int32,
    "int64": readers.read_int64,
    "uint8": readers.read_uint8,
    "uint16": readers.read_uint16,
    "uint32": readers.read_uint32,
    "uint64": readers.read_uint64,
    "float64": readers.read_float64,
    "uuid": readers.read_uuid,
    "timedelta_i32": readers.read_timedelta_i32,
    "timedelta_i64": readers.read_timedelta_i64,
}


def read_tolerantly(entity_type: Any, message: memoryview) -> Any:
    """Return the entity of this kio class, without what the class lacks; its error codes are ours."""
    return _entity(entity_type, _Cursor(message))


class _Cursor:
    """Where reading has come to."""

    def __init__(self, message: memoryview) -> None:
        self._message = message
        self.at = 0

    def read(self, reader: readers.Reader[Any]) -> Any:
        value, size = reader(self._message, self.at)
        self.at += size
        return value


def _entity(entity_type: Any, cursor: _Cursor) -> Any:
    flexible = entity_type.__flexible__
    known = {field.metadata.get("tag", field.name): field for field in fields(entity_type)}
    values = {
        name: _value(field, flexible=flexible, cursor=cursor) for name, field in known.items() if isinstance(name, str)
    }
    for _ in range(cursor.read(readers.read_unsigned_varint) if flexible else 0):
        tag, size = cursor.read(readers.read_unsigned_varint), cursor.read(readers.read_unsigned_varint)
        end = cursor.at + size
        if tag in known:
            values[known[tag].name] = _value(known[tag], flexible=flexible, cursor=cursor)
        cursor.at = end
    return entity_type(**values)


def _value(field: Field[Any], *, flexible: bool, cursor: _Cursor) -> Any:
    kind, nullable = _without_none(field.type)
    if get_origin(kind) is tuple:
        return _array(field, get_args(kind)[0], flexible=flexible, cursor=cursor)
    if not is_dataclass(kind):
        return _primitive(field.metadata["kafka_type"], flexible=flexible, nullable=nullable, cursor=cursor)
    if nullable and "tag" not in field.metadata and cursor.read(readers.read_int8) < 0:
        return None
    return _entity(kind, cursor)


def _array(field: Field[Any], item_type: Any, *, flexible: bool, cursor: _Cursor) -> tuple[Any, ...] | None:
    count = cursor.read(readers.read_compact_array_length if flexible else readers.read_legacy_array_length)
    if count is None or count < 0:
        return None
    kind, _ = _without_none(item_type)
    if is_dataclass(kind):
        return tuple(_entity(kind, cursor) for _ in range(count))
    name = field.metadata["kafka_type"]
    return tuple(_primitive(name, flexible=flexible, nullable=False, cursor=cursor) for _ in range(count))


def _primitive(kind: str, *, flexible: bool, nullable: bool, cursor: _Cursor) -> Any:
    if kind == "error_code":
        return code_of(cursor.read(readers.read_int16))
    return cursor.read(_FIXED.get(kind) or _varying(kind, flexible=flexible, nullable=nullable))


def _varying(kind: str, *, flexible: bool, nullable: bool) -> readers.Reader[Any]:
    if kind == "datetime_i64":
        return readers.read_nullable_datetime_i64 if nullable else readers.read_datetime_i64
    if kind == "string":
        if flexible:
            return readers.read_compact_string_nullable if nullable else readers.read_compact_string
        return readers.read_nullable_legacy_string if nullable else readers.read_legacy_string
    if flexible:
        return readers.read_compact_string_as_bytes_nullable if nullable else readers.read_compact_string_as_bytes
    return readers.read_nullable_legacy_bytes if nullable else readers.read_legacy_bytes


def _without_none(kind: Any) -> tuple[Any, bool]:
    arguments = get_args(kind)
    if NoneType not in arguments:
        return kind, False
    return next(argument for argument in arguments if argument is not NoneType), True
