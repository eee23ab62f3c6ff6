"""Records about other records: those that count only together (KIP-868), and those that say nothing."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from replication.records.codec.codec import Tag
from replication.records.codec.fields import OptionalString
from replication.records.metadata.records.record import MetadataRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginTransactionRecord(MetadataRecord):
    """The records from here on count once the transaction ends."""

    API_KEY: ClassVar[int] = 23

    name: Annotated[OptionalString, Tag(0)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTransactionRecord(MetadataRecord):
    """The records of the transaction count."""

    API_KEY: ClassVar[int] = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortTransactionRecord(MetadataRecord):
    """The records of the transaction never were."""

    API_KEY: ClassVar[int] = 25

    reason: Annotated[OptionalString, Tag(0)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOpRecord(MetadataRecord):
    """Nothing has changed: an active controller says so twice a second, for the offsets to go on (KIP-835)."""

    API_KEY: ClassVar[int] = 20
