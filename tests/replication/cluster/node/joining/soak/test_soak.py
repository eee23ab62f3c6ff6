"""200 partitions under steady load in a cluster of two brokers of Kafka's and one of ours: nothing grows or changes."""

import re
import time
from pathlib import Path
from typing import Final

from logstore import TopicPartition
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.offline.recovered_log import RecoveredLog
from tests.campaign import Campaign
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.node.joining.administrator import Administrator
from tests.replication.cluster.node.joining.mixed_cluster import OURS, MixedCluster
from tests.replication.cluster.node.joining.soak.load import SteadyReader, SteadyWriter, number_of
from tests.replication.cluster.node.joining.soak.process_figures import Watched, ensure_flat, quarters
from tests.replication.testing.stopped_replicas import check_roots
from tests.replication.waiting import wait_until

SESSION_MS, LAG_MS = 9_000, 30_000
"""Kafka's own."""
TOPIC: Final = "soak"
PARTITIONS: Final = 200
_REPLICAS: Final = ((1, 2, OURS), (2, OURS, 1), (OURS, 1, 2))
"""In turn: each broker leads a third."""
_CONCERN: Final = re.compile(r"^\[[^]]+\] (?:WARN|ERROR|FATAL) .*", re.MULTILINE)
_SLOW: Final = re.compile(r"EventPerformanceMonitor|controller event queue overloaded")
"""What a controller says on a busy machine, whoever asks it."""


def test_memory_and_isrs_stay_as_they_are_and_no_broker_complains(tmp_path: Path, release: KafkaRelease) -> None:
    campaign = Campaign("seconds of steady load in a real cluster", full=900, share=60)
    described = MixedCluster.of(tmp_path / "cluster", release, kafkas=2, session_ms=SESSION_MS, lag_ms=LAG_MS)
    described.controller_settings = {**described.controller_settings, "auto.leader.rebalance.enable": "false"}
    with described as cluster:
        make_topic(cluster)
        writer = SteadyWriter(cluster.bootstrap(), TOPIC, PARTITIONS)
        reader = SteadyReader(cluster.bootstrap(), TOPIC, PARTITIONS)
        writer.start()
        reader.start()
        wait_until(lambda: reader.seen >= PARTITIONS, "records have come through")
        said = {node: len(cluster.said(node)) for node in cluster.nodes}
        before = cluster.image().topics.by_name[TOPIC].partitions
        watched = Watched(cluster.pid(OURS))
        watched.start()
        time.sleep(campaign.count)
        watched.stop()
        writer.finish()
        wait_until(lambda: reader.seen == writer.sent, "all is read")
        reader.stop()
        after = cluster.image().topics.by_name[TOPIC].partitions
        concerns = {node: concerns_of(cluster.said(node)[start:]) for node, start in said.items()}
        for node in cluster.ids:
            cluster.stop(node)
    assert reader.strange == []
    assert {each: (before[each], after[each]) for each in before if before[each] != after[each]} == {}
    assert {node: told for node, told in concerns.items() if told} == {}
    ensure_flat(watched.figures)
    check_written(cluster, writer.sent)
    check_roots([cluster.log_dir(node) for node in cluster.ids])
    told = " and ".join(
        f"{each.memory // 1_024} MiB of its own of {each.resident // 1_024}, {each.descriptors} descriptors, "
        f"{each.threads} threads"
        for each in quarters(watched.figures)
    )
    campaign.report(campaign.count, f"{writer.sent:,} records; {told}", beside=release)


def make_topic(cluster: MixedCluster) -> None:
    """Make it, and let each partition be led by its first replica."""
    administrator = Administrator(cluster)
    administrator.make_coordinators()
    replicas = [_REPLICAS[number % len(_REPLICAS)] for number in range(PARTITIONS)]
    wait_until(lambda: administrator.create(TOPIC, replicas, min_insync_replicas=2), "the topic is made")

    def is_whole() -> bool:
        mine = [view for each, view in administrator.partitions().items() if each.topic == TOPIC]
        return len(mine) == PARTITIONS and all(len(view.isr) == len(view.replicas) for view in mine)

    def is_led() -> bool:
        administrator.elect("preferred")
        mine = [view for each, view in administrator.partitions().items() if each.topic == TOPIC]
        return is_whole() and all(view.leader == view.replicas[0] for view in mine)

    wait_until(is_whole, "all replicas are in sync")
    wait_until(is_led, "all preferred replicas lead")


def concerns_of(said: str) -> list[str]:
    """Return the warnings and errors in what a node of Kafka's said, but for those of a busy machine."""
    return [line for line in _CONCERN.findall(said) if not _SLOW.search(line)]


def check_written(cluster: MixedCluster, sent: int) -> None:
    """Check that each partition has all that was sent to it, once and in order. Raises AssertionError."""
    root = OfflineLogDirectory.open(cluster.log_dir(OURS))
    for partition in range(PARTITIONS):
        log = RecoveredLog.load(root.open_partition(str(TopicPartition(TOPIC, partition))))
        found = [number_of(record.value or b"") for record in log.records()]
        assert found == list(range(partition, sent, PARTITIONS)), f"{TOPIC}-{partition}"
