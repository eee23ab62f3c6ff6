"""Metadata records and control messages as plain names and values, for people and for JSON."""

from dataclasses import is_dataclass
from typing import Any
from uuid import UUID

from logstore.files.partition_metadata import format_uuid
from replication.records.codec.codec import codec_of
from replication.records.metadata.records import MetadataRecord
from replication.records.metadata.records.control import ControlMessage


def describe(record: MetadataRecord | ControlMessage, version: int) -> dict[str, Any]:
    """Return the fields that a version has, without tagged ones that have their default (they are not written).

    Ids are in Kafka's URL-safe base64, lists are lists, bytes stay bytes.
    """
    return _fields(record, version)


def _fields(value: object, version: int) -> dict[str, Any]:
    said = codec_of(type(value), version).fields(value)
    return {name: _plain(content, version) for name, content in said.items()}


def _plain(value: object, version: int) -> Any:
    match value:
        case UUID():
            return format_uuid(value)
        case tuple():
            return [_plain(each, version) for each in value]
        case _ if is_dataclass(value):
            return _fields(value, version)
        case _:
            return value
