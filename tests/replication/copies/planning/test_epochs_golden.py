"""Both accounts of who led when agree with what Kafka's own tools say of real replicas."""

from collections.abc import Iterator
from typing import Any

import pytest

from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.verify import compare_epochs
from tests.data.replicas import LABELS, replicas, truth


def told(label: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for broker, document in truth(label)["brokers"].items():
        for partition, facts in document["partitions"].items():
            yield broker, partition, facts


@pytest.mark.parametrize("label", LABELS)
def test_epochs_agrees_with_kafka(label: str) -> None:
    partitions = list(told(label))
    assert partitions
    for broker, partition, facts in partitions:
        comparison = compare_epochs(OfflineLogDirectory.open(replicas(label) / broker).open_partition(partition))
        place = (broker, partition)
        assert as_lists(comparison.checkpoint) == facts["leader_epoch_checkpoint"], place
        assert as_lists(comparison.batches) == facts["epochs_from_batches"], place


def as_lists(entries: Any) -> Any:
    return None if entries is None else [list(entry) for entry in entries]
