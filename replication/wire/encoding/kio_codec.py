"""Codecs of kio's classes, made from what kio says of their fields; its own readers and writers are not used.

kio's reader makes room for as many items as an array announces, and refuses what is newer than kio: tagged fields
(KIP-482) and error codes. Ours checks each length first, passes over new tags, and takes an error code that is not
known as UNKNOWN_SERVER_ERROR.
"""

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from dataclasses import Field as KioField
from datetime import UTC, datetime, timedelta
from functools import cache
from types import NoneType
from typing import Any, Final, get_args, get_origin

from kio.schema import errors as kio_errors

from replication.records.codec import fields as types
from replication.records.codec.codec import Codec, struct_type
from replication.records.codec.field import Field
from replication.records.codec.fields import NO_ID, FieldType, array, converted, nullable, optional_array
from replication.wire.error_code import ErrorCode

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_NO_TIME: Final = -1
_CODES: Final[Mapping[int, int]] = {code.value: code for code in kio_errors.ErrorCode}


def _named(annotated: Any) -> FieldType[Any]:
    kind: FieldType[Any] = get_args(annotated)[1]
    return kind


def _time_of(milliseconds: int) -> datetime:
    return _EPOCH + milliseconds * _MILLISECOND


def _milliseconds(of: datetime) -> int:
    return round((of - _EPOCH) / _MILLISECOND)


def _duration(kind: Any) -> FieldType[timedelta]:
    return converted(_named(kind), lambda number: number * _MILLISECOND, lambda value: round(value / _MILLISECOND))


_INT64: Final = _named(types.Int64)
_TYPES: Final[Mapping[str, FieldType[Any]]] = {
    "bool": _named(types.Bool),
    "int8": _named(types.Int8),
    "int16": _named(types.Int16),
    "uint16": _named(types.UInt16),
    "int32": _named(types.Int32),
    "int64": _INT64,
    "float64": _named(types.Float64),
    "string": _named(types.String),
    "bytes": _named(types.Bytes),
    "records": _named(types.Bytes),
    "uuid": converted(_named(types.Uuid), lambda value: value if value.int else None, lambda value: value or NO_ID),
    "error_code": converted(
        _named(types.Int16), lambda number: _CODES.get(number, ErrorCode.UNKNOWN_SERVER_ERROR), lambda code: code.value
    ),
    "timedelta_i32": _duration(types.Int32),
    "timedelta_i64": _duration(types.Int64),
    "datetime_i64": converted(_INT64, _time_of, _milliseconds),
}
_OPTIONAL_TYPES: Final[Mapping[str, FieldType[Any]]] = {
    "string": _named(types.OptionalString),
    "bytes": _named(types.OptionalBytes),
    "records": _named(types.OptionalBytes),
    "datetime_i64": converted(
        _INT64,
        lambda number: None if number == _NO_TIME else _time_of(number),
        lambda value: _NO_TIME if value is None else _milliseconds(value),
    ),
}
_ZEROS: Final[Mapping[str, Any]] = {"string": "", "bytes": b""}


@cache
def kio_codec(entity_type: Any) -> Codec[Any]:
    """Return the codec of one of kio's classes, which are of one version each."""
    flexible: bool = entity_type.__flexible__
    return Codec(entity_type, [_field(field, flexible=flexible) for field in fields(entity_type)], flexible=flexible)


def _field(field: KioField[Any], *, flexible: bool) -> Field:
    tag = field.metadata.get("tag")
    kind = _field_type(field, tagged=tag is not None).form(flexible=flexible)
    return Field(field.name, kind, None if tag is None else _default(field), tag)


def _field_type(field: KioField[Any], *, tagged: bool) -> FieldType[Any]:
    kind, optional = _without_none(field.type)
    if get_origin(kind) is tuple:
        item, _ = _without_none(get_args(kind)[0])
        return (optional_array if optional else array)(_of_type(item, field))
    if is_dataclass(kind):
        return nullable(_of_type(kind, field)) if optional and not tagged else _of_type(kind, field)
    name = field.metadata["kafka_type"]
    return _OPTIONAL_TYPES.get(name, _TYPES[name]) if optional else _TYPES[name]


def _of_type(kind: Any, field: KioField[Any]) -> FieldType[Any]:
    if is_dataclass(kind):
        return struct_type(kio_codec(kind))  # type: ignore[arg-type]  # a class can be hashed, which mypy does not see
    return _TYPES[field.metadata["kafka_type"]]


def _default(field: KioField[Any]) -> Any:
    """Return what a tagged field has where it is not written; kio does not say so of all."""
    if field.default is not MISSING:
        return field.default
    if is_dataclass(field.type):
        return field.type(**{each.name: _default(each) for each in fields(field.type)})  # type: ignore[operator]
    return _ZEROS.get(field.metadata["kafka_type"], 0)


def _without_none(kind: Any) -> tuple[Any, bool]:
    arguments = get_args(kind)
    if NoneType not in arguments:
        return kind, False
    return next(argument for argument in arguments if argument is not NoneType), True
