"""The copies of one of Kafka's own topics that should lead: what they hold counts."""

from collections.abc import Iterable, Iterator

from replication.audit.examination.copy_examiner import Row


def leading_copies(topic: str, examined: Iterable[Row], judged: Iterable[Row]) -> Iterator[Row]:
    """Pick of each of the topic's partitions the copy that is recommended."""
    leaders = {row["partition"]: row["recommended"] for row in judged if row["topic"] == topic}
    for row in examined:
        if row["topic"] == topic and row["summary"] is not None and leaders.get(row["partition"]) == row["replica"]:
            yield row
