"""A broker of ours lives in clusters of earlier releases, at the levels of metadata.version that those work at."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from replication.records.metadata.metadata_version import MetadataVersion
from tests.campaign import Campaign
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KAFKA_3_9, KAFKA_4_0, KafkaRelease
from tests.replication.cluster.node.joining.administrator import Administrator
from tests.replication.cluster.node.joining.earlier.life import Life, level_of
from tests.replication.cluster.node.joining.mixed_cluster import OURS, MixedCluster
from tests.replication.testing.stopped_replicas import check_roots

SESSION_MS, LAG_MS = 6_000, 3_000


@dataclass(frozen=True)
class Case:
    """A release, a level at which its cluster works, and whose producer writes in transactions."""

    release: KafkaRelease
    level: MetadataVersion
    seed: int
    """Odd for Kafka's own producer."""

    def __str__(self) -> str:
        return f"{self.release.version} at {self.level.told}, {'Java' if self.seed % 2 else 'librdkafka'}"


CASES: Final = [
    Case(release, level, seed)
    for release, level in (
        (KAFKA_3_9, MetadataVersion.V3_9_IV0),
        (KAFKA_4_0, MetadataVersion.V4_0_IV3),
        (KAFKA_3_9, MetadataVersion.V3_3_IV3),
        (KAFKA_4_0, MetadataVersion.V3_6_IV2),
    )
    for seed in (1, 2)
]
CAMPAIGN: Final = Campaign("clusters of earlier releases", full=8, share=1)


def cases_of_this_run() -> Sequence[Case]:
    """Return all of them, or the one whose turn it is by the seed."""
    first = CAMPAIGN.seed % len(CASES)
    return (CASES * 2)[first : first + CAMPAIGN.count]


@pytest.mark.parametrize("case", cases_of_this_run(), ids=str)
def test_it_leads_follows_is_moved_dies_and_leaves_and_nothing_is_lost(tmp_path: Path, case: Case) -> None:
    described = MixedCluster.of(tmp_path, case.release, kafkas=1, session_ms=SESSION_MS, lag_ms=LAG_MS)
    described.level = case.level
    with (
        described as cluster,
        JavaProgram(case.release, "TransactionClient", cluster.bootstrap(), heap="128m") as java,
    ):
        assert level_of(cluster, OURS) is case.level
        Administrator(cluster).make_coordinators()
        life = Life(cluster, java, case.seed)
        life.run()
        assert life.transactions.committed
        for node in cluster.ids:
            cluster.stop(node)
    check_roots([cluster.log_dir(node) for node in cluster.ids], {life.compacted.topic})
    CAMPAIGN.report(1, str(case))
