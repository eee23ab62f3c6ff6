"""What the controller makes of a request: records for the log, and an answer once they are in it."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from replication.records.metadata.records import MetadataRecord

Answer_co = TypeVar("Answer_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Decision(Generic[Answer_co]):
    """Records to append, all or none, and the answer to give when they are committed (Kafka: ControllerResult)."""

    records: list[MetadataRecord]
    answer: Answer_co
