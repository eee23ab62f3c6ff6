"""A frozen image stays as it was, whatever is replayed into the one that it was made of."""

import random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.records.metadata.image import ClusterImage
from replication.records.metadata.records import NoOpRecord, TopicRecord
from tests.replication.records.metadata.histories import History

TOPIC = TopicRecord(name="orders", topic_id=UUID(int=7))


@given(st.integers(0, 2**32))
def test_it_says_for_good_what_was_replayed_up_to_then(seed: int) -> None:
    chance = random.Random(seed)
    history = History(chance)
    history.go_on(40)
    image, frozen = ClusterImage(), []
    for number, record in enumerate(history.records, 1):
        image.replay(record)
        if not chance.randrange(4):
            frozen.append((number, image.frozen()))
    assert image == history.image
    for number, each in frozen:
        expected = ClusterImage()
        expected.replay_all(history.records[:number])
        assert each == expected


@given(st.integers(0, 2**32))
def test_it_makes_the_same_snapshot(seed: int) -> None:
    history = History(random.Random(seed))
    history.go_on(30)
    assert list(history.image.frozen().records()) == list(history.image.records())


def test_what_has_not_changed_is_shared() -> None:
    image = ClusterImage()
    image.replay(TOPIC)
    first = image.frozen()
    image.replay(NoOpRecord())
    assert image.frozen().topics is first.topics
    image.replay(TopicRecord(name="more", topic_id=UUID(int=8)))
    assert image.frozen().topics.by_name["orders"] is first.topics.by_name["orders"]


def test_nothing_changes_it() -> None:
    image = ClusterImage()
    image.replay(TOPIC)
    frozen = image.frozen()
    with pytest.raises(TypeError, match="cannot change"):
        frozen.replay(NoOpRecord())
    with pytest.raises(TypeError):
        frozen.brokers[1] = None
    with pytest.raises(TypeError):
        del frozen.topics.by_id[TOPIC.topic_id]
    with pytest.raises(TypeError):
        frozen.topics.by_name["orders"].partitions[0] = None
