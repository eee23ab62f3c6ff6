"""The segments of the shipped replicas, each with what Kafka's own tools say about it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.data.replicas import replicas, truth

LEGACY = Path(__file__).parent.parent / "data/legacy"


class GoldenSegment(NamedTuple):
    directory: Path
    base_offset: int
    truth: dict[str, Any]

    def path(self, suffix: str) -> Path:
        return self.directory / f"{self.base_offset:020d}.{suffix}"


def golden_segments(label: str) -> Iterator[GoldenSegment]:
    """Every segment of every partition of every broker."""
    for broker, content in truth(label)["brokers"].items():
        for partition, partition_truth in content["partitions"].items():
            for segment in partition_truth["segments"]:
                yield GoldenSegment(replicas(label) / broker / partition, segment["base"], segment)
