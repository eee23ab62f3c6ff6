"""The results of elections, in the wording of `kafka-leader-election`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from logstore import TopicPartition
from replication.wire.error_code import ErrorCode, message_of
from replication.wire.messages.elect_leaders import ElectionResult, ElectionType


def error_text(code: ErrorCode, message: str | None = None) -> str:
    """Return an error's name with the broker's message or, where it sent none, the usual one (Kafka: Errors.message).

    >>> error_text(ErrorCode.REQUEST_TIMED_OUT)
    'REQUEST_TIMED_OUT: The request timed out.'
    """
    told = message_of(code) if message is None else message
    return code.name if told is None else f"{code.name}: {told}"


@dataclass(frozen=True, slots=True)
class ElectionReport:
    """The results by partition."""

    election_type: ElectionType
    results: Mapping[TopicPartition, ElectionResult]

    @property
    def elected(self) -> list[TopicPartition]:
        """The partitions that have a new leader."""
        return self._with(ErrorCode.NONE)

    @property
    def not_needed(self) -> list[TopicPartition]:
        """The partitions that needed no election."""
        return self._with(ErrorCode.ELECTION_NOT_NEEDED)

    @property
    def failed(self) -> dict[TopicPartition, ElectionResult]:
        """The other partitions."""
        fine = (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)
        return {partition: result for partition, result in self.results.items() if result.error not in fine}

    @property
    def lines(self) -> Iterator[str]:
        """The tool's lines for standard output."""
        if self.elected:
            yield (
                f"Successfully completed leader election ({self.election_type.name}) for partitions "
                f"{', '.join(map(str, self.elected))}"
            )
        if self.not_needed:
            yield f"Valid replica already elected for partitions {', '.join(map(str, self.not_needed))}"
        for partition, result in self.failed.items():
            yield (
                f"Error completing leader election ({self.election_type.name}) for partition: {partition}: "
                f"{error_text(result.error, result.message)}"
            )

    @property
    def complaint(self) -> str:
        """The tool's line for standard error; empty if nothing failed."""
        return f"{len(self.failed)} replica(s) could not be elected" if self.failed else ""

    def as_json(self) -> Mapping[str, Any]:
        """Return what can be written as JSON."""
        return {
            "election_type": self.election_type.name,
            "elected": len(self.elected),
            "not_needed": len(self.not_needed),
            "failed": len(self.failed),
            "partitions": [
                {
                    "topic": partition.topic,
                    "partition": partition.partition,
                    "error": None if result.error is ErrorCode.NONE else result.error.name,
                    "message": result.message,
                }
                for partition, result in self.results.items()
            ],
        }

    def _with(self, error: ErrorCode) -> list[TopicPartition]:
        return [partition for partition, result in self.results.items() if result.error is error]
