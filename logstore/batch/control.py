"""Control records: what Kafka itself writes between the records of producers (KIP-98, KIP-595, KIP-630, KIP-853)."""

from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

from logstore.batch.record import Record
from logstore.errors import CorruptControlRecordError

_KEY: Final = Struct(">hh")
_END_TRANSACTION: Final = Struct(">hi")


class ControlType(IntEnum):
    """What a control record says (Kafka: ControlRecordType)."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


def control_key(control_type: int, version: int = 0) -> bytes:
    """Return the key of a control record (Kafka: ControlRecordType)."""
    return _KEY.pack(version, control_type)


class EndTransactionMarker(NamedTuple):
    """A transaction of the batch's producer ends here (Kafka: EndTransactionMarker)."""

    type: ControlType
    version: int
    coordinator_epoch: int
    """The leader epoch of the transaction coordinator's partition: markers with a lower one are refused."""

    def record(self, timestamp: int) -> Record:
        """Encode the record that says so, at `timestamp` in milliseconds since 1970 UTC."""
        key = control_key(self.type, self.version)
        return Record(0, timestamp, key, _END_TRANSACTION.pack(self.version, self.coordinator_epoch))


class ControlRecord(NamedTuple):
    """A control record's key, and its value still encoded."""

    version: int
    type: ControlType | int
    """A plain number where a newer Kafka has written it."""
    value: bytes | None

    @classmethod
    def of(cls, record: Record) -> "ControlRecord":
        """Read a record of a control batch. Raises CorruptControlRecordError where its key is too short."""
        if record.key is None or len(record.key) < _KEY.size:
            raise CorruptControlRecordError("a control record's key is missing or too short", offset=record.offset)
        version, number = _KEY.unpack_from(record.key)
        if version < 0:
            raise CorruptControlRecordError(f"a control record's key has version {version}", offset=record.offset)
        return cls(version, ControlType(number) if number in _TYPES else number, record.value)

    def end_transaction_marker(self) -> EndTransactionMarker | None:
        """Read the value of a commit or abort; None for every other type."""
        if self.type not in {ControlType.ABORT, ControlType.COMMIT}:
            return None
        if self.value is None or len(self.value) < _END_TRANSACTION.size:
            raise CorruptControlRecordError("a transaction marker's value is missing or too short")
        version, coordinator_epoch = _END_TRANSACTION.unpack_from(self.value)
        if version < 0:
            raise CorruptControlRecordError(f"a transaction marker's value has version {version}")
        return EndTransactionMarker(ControlType(self.type), version, coordinator_epoch)


_TYPES: Final = frozenset(ControlType)
