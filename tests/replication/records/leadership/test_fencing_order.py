"""In which order a controller that becomes active gives up brokers, as Kafka's controllers were seen to do it."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import pytest

from replication.records.leadership.fencing_order import fencing_turns
from replication.records.metadata.metadata_version import LATEST_METADATA_VERSION, MetadataVersion
from replication.records.metadata.nodes import BrokerRegistration
from tests.replication.records.leadership.clusters import Cluster, partition


def brokers(epochs: Mapping[int, int]) -> list[BrokerRegistration]:
    known = Cluster(partition([1, 2, 3]), alive=[1, 2, 3]).image().brokers
    return [replace(known[1], id=each, epoch=epoch) for each, epoch in epochs.items()]


@pytest.mark.parametrize(
    "fenced",
    [{1: 12, 3: 14, 2: 16}, {1: 211, 2: 186, 3: 171}, {1: 468, 2: 476, 3: 445}],
    ids=str,
)
def test_it_follows_from_ids_and_epochs(fenced: Mapping[int, int]) -> None:
    turns = fencing_turns(brokers(fenced), LATEST_METADATA_VERSION)
    assert all(turns[one] <= turns[other] for one, other in pairwise(fenced))
    assert len({*turns.values()}) == 2


def test_before_4_0_it_is_not_known() -> None:
    turns = fencing_turns(brokers({1: 12, 3: 14, 2: 16}), MetadataVersion.V3_9_IV0)
    assert turns == {1: 0, 2: 0, 3: 0}


def test_who_is_fenced_has_no_turn() -> None:
    fenced = [replace(each, fenced=True) for each in brokers({1: 12})]
    assert fencing_turns(fenced, LATEST_METADATA_VERSION) == {}


def test_of_many_brokers_there_are_more_turns() -> None:
    turns = fencing_turns(brokers(dict.fromkeys(range(12), 100)), LATEST_METADATA_VERSION)
    assert max(turns.values()) >= 16
