"""What will be read is estimated by offsets, and by the batches that were looked at."""

from logstore.topic_partition import TopicPartition
from replication.cluster.network_audit.estimate import Estimate, Sample
from replication.cluster.network_audit.replicated_partition import ReplicatedPartition

A, B, C = (TopicPartition("t", number) for number in range(3))


def replicated(partition: TopicPartition, *replicas: int) -> ReplicatedPartition:
    return ReplicatedPartition(partition, None, replicas[0], 0, replicas, replicas)


def test_each_replica_counts_by_its_offsets_and_what_was_not_looked_at_is_taken_for_average() -> None:
    partitions = [replicated(A, 1, 2, 3), replicated(B, 2, 3), replicated(C, 3)]
    samples = {A: Sample(10, 1_000), B: Sample(30, 600)}
    estimate = Estimate.of(partitions, {A: 100, B: 1_000, C: 10}, samples, bytes_per_second=4_000)
    in_a, in_b, in_c = 10_000, 20_000, 400
    assert estimate.bytes == 3 * in_a + 2 * in_b + in_c
    assert estimate.most_bytes == in_a + in_b + in_c
    assert str(estimate) == (
        "about 70,400 bytes in 6 replicas of 3 partitions on 3 brokers: at the given rate 8 seconds or more"
    )


def test_partitions_of_which_nothing_is_known_count_as_empty() -> None:
    assert str(Estimate.of([replicated(A, 1)], {}, {})) == "about 0 bytes in 1 replica of 1 partition on 1 broker"
