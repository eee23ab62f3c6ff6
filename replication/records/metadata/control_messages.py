"""Control records of metadata logs and snapshots, to messages and back."""

from typing import Final

from logstore.batch.control import ControlRecord, ControlType, control_key
from logstore.batch.record import Record
from logstore.errors import CorruptControlRecordError
from replication.records.codec.codec import codec_of
from replication.records.codec.errors import CODEC_ERRORS
from replication.records.codec.read_whole import read_whole
from replication.records.metadata.errors import InvalidMetadataRecordError
from replication.records.metadata.records.control import (
    ControlMessage,
    KRaftVersion,
    LeaderChange,
    SnapshotFooter,
    SnapshotHeader,
    Voters,
)

_LATEST_LEADER_CHANGE: Final = 1
_KINDS: Final[dict[int, type[ControlMessage]]] = {
    ControlType.LEADER_CHANGE: LeaderChange,
    ControlType.SNAPSHOT_HEADER: SnapshotHeader,
    ControlType.SNAPSHOT_FOOTER: SnapshotFooter,
    ControlType.KRAFT_VERSION: KRaftVersion,
    ControlType.KRAFT_VOTERS: Voters,
}
_TYPES: Final = {kind: number for number, kind in _KINDS.items()}


def decode_control(record: Record) -> ControlMessage | None:
    """Read what a control record says; None for those of other logs, and of later Kafkas.

    Raises InvalidMetadataRecordError, which names the offset; its `with_position` adds the file.
    """
    try:
        control = ControlRecord.of(record)
    except CorruptControlRecordError as error:
        raise InvalidMetadataRecordError(error.what, offset=record.offset) from error
    kind = _KINDS.get(control.type)
    value = control.value or b""
    version = int.from_bytes(value[:2], signed=True)
    if kind is None or not 0 <= version <= (_LATEST_LEADER_CHANGE if kind is LeaderChange else 0):
        return None
    try:
        return read_whole(codec_of(kind, version), value)
    except CODEC_ERRORS as error:
        raise InvalidMetadataRecordError(f"a {kind.__name__} cannot be read: {error}", offset=record.offset) from error


def encode_control(message: ControlMessage, timestamp: int) -> Record:
    """Return the control record that says so, at `timestamp` in milliseconds since 1970 UTC."""
    kind = type(message)
    value = bytearray()
    codec_of(kind, message.version).write(value, message)
    return Record.of(bytes(value), control_key(_TYPES[kind]), timestamp=timestamp)
