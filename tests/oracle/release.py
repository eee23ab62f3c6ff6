"""Which releases of Kafka the tests run beside: all with CAMPAIGN=full, else the one whose turn it is by the seed."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from replication.records.metadata.metadata_version import MetadataVersion
from tests.campaign import is_full, run_seed

BUILD: Final = Path(__file__).parents[2] / "build/kafka"


@dataclass(frozen=True)
class KafkaRelease:
    """A release on Maven Central, and where its jars and the programs compiled against them are kept."""

    version: str
    metadata_version: int
    """The level of `metadata.version` that its clusters are formatted with, the latest that it knows."""
    programs: tuple[str, ...] = ()
    """Which Java programs are compiled against it: all where none is named."""

    @property
    def is_before_4_4(self) -> bool:
        """Whether what is new in Kafka 4.4 is not to be expected."""
        return self.metadata_version < MetadataVersion.V4_4_IV0

    @property
    def jars(self) -> Path:
        return BUILD / self.version / "lib"

    @property
    def classes(self) -> Path:
        return BUILD / self.version / "classes"

    def __str__(self) -> str:
        return f"Kafka {self.version}"


RELEASES: Final = (KafkaRelease("4.3.1", MetadataVersion.V4_3_IV0), KafkaRelease("4.4.0", MetadataVersion.V4_4_IV2))
KAFKA_3_9: Final = KafkaRelease("3.9.2", MetadataVersion.V3_9_IV0, ("MessageOracle", "TransactionClient"))
KAFKA_4_0: Final = KafkaRelease("4.0.2", MetadataVersion.V4_0_IV3, ("TransactionClient",))
"""Whose clusters brokers of ours join too; of 3.9, the last with ZooKeeper, the messages of that era are compared."""
BENCHMARKED: Final = RELEASES[0]
"""What the benchmarks compare with, so that their figures and floors stay comparable."""


def releases_of_this_run() -> tuple[KafkaRelease, ...]:
    """Return what this run's tests run beside; KAFKA_VERSION=4.4.0 asks for that one alone."""
    if asked := os.environ.get("KAFKA_VERSION"):
        return (release_of(asked),)
    return RELEASES if is_full() else (RELEASES[run_seed() % len(RELEASES)],)


def release_of(version: str) -> KafkaRelease:
    """Return the release of a version; ValueError for one that is not tested with."""
    for release in RELEASES:
        if release.version == version:
            return release
    raise ValueError(f"Kafka {version} is none of {', '.join(release.version for release in RELEASES)}")
