"""Where brokers cut their logs off, as read from what they say."""

from logstore import TopicPartition
from tests.replication.cluster.node.joining.cuts import cuts

THEIRS = """\
[2026-11-26 19:36:06,625] INFO [UnifiedLog partition=fork-2-0, dir=/data] Truncating to 0 has no effect as the largest \
offset in the log is -1 (org.apache.kafka.storage.internals.log.UnifiedLog)
[2026-11-26 19:36:06,629] INFO [UnifiedLog partition=fork-2-1, dir=/data] Truncating to offset 18 (org.apache...)
[2026-11-26 19:36:06,640] INFO [UnifiedLog partition=fork-2-1, dir=/data] Truncating to offset 7 (org.apache...)
"""
OURS = """\
{"schema_version": 1, "cluster_id": "MkU3OEVBNTcwNTJENDM2Qg", "node_id": 9}
{"time": 1, "event": "isr-change", "topic": "fork-2", "partition": 1, "from": "9,1", "to": "9"}
{"time": 2, "event": "truncation", "topic": "fork-2", "partition": 1, "leader_epoch": 1, "from": 22, "to": 18}
[2026-11-26 19:36:21,725] INFO /data/fork-2-1: truncated to offset 18, 555 bytes removed (logstore)
"""


def test_each_cut_of_kafkas_and_ours_counts_once_and_what_had_no_effect_does_not() -> None:
    assert cuts(THEIRS) == {TopicPartition("fork-2", 1): [18, 7]}
    assert cuts(OURS) == {TopicPartition("fork-2", 1): [18]}
