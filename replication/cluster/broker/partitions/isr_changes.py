"""What takes the changes of ISRs that leaders want to the controller (Kafka: AlterPartitionManager)."""

from collections.abc import Sequence
from typing import Protocol

from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import AlterPartitionResponse, IsrAnswer, IsrChange


class IsrChanges(Protocol):
    """Takes the changes of all partitions that a broker leads to the controller."""

    def ask(self, change: IsrChange) -> None:
        """Ask for a change, and pass the answer to `LedPartition.answered`: in any thread, now or later.

        After an error that may pass, `answered` asks for the same change again: back off before it is sent, and send it
        only once the request before cannot reach the controller any more. One that comes after its change was refused
        may be granted then, and the leader would not wait for who joins.
        """


def answers_to(wanted: Sequence[IsrChange], response: AlterPartitionResponse) -> list[IsrAnswer]:
    """Return what became of each change; one that the controller does not speak of may be asked for again."""
    told = {(each.topic_id, each.partition): each for each in response.answers}
    error = response.error or ErrorCode.UNKNOWN_SERVER_ERROR
    return [
        told.get((each.topic_id, each.partition)) or IsrAnswer(each.topic_id, each.partition, error) for each in wanted
    ]
