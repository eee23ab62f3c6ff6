"""What is published is what was replayed, whole, and stays."""

import random
from itertools import pairwise
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from replication.records.metadata.batches import MetadataBatch
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.image_changes import ImageChanges
from replication.records.metadata.image_publisher import BatchChanges, ImagePublisher
from replication.records.metadata.loading import LoadedImage
from replication.records.metadata.records import (
    BeginTransactionRecord,
    EndTransactionRecord,
    MetadataRecord,
    NoOpRecord,
    TopicRecord,
)
from tests.replication.records.metadata.histories import History

ORDERS = TopicRecord(name="orders", topic_id=UUID(int=7))
MORE = TopicRecord(name="more", topic_id=UUID(int=8))
CREATED = ImageChanges(topics=frozenset({ORDERS.topic_id}))


def batch(base_offset: int, *records: MetadataRecord, epoch: int = 1) -> MetadataBatch:
    return MetadataBatch(base_offset, base_offset + len(records) - 1, epoch, 0, records)


@given(st.integers(0, 2**32))
def test_each_published_image_is_that_of_its_offset_for_good(seed: int) -> None:
    chance = random.Random(seed)
    history, publisher, published, written = History(chance), ImagePublisher(), [], 0
    history.go_on(50)
    while written < len(history.records):
        records = history.records[written : written + chance.randrange(1, 6)]
        publisher.replay([batch(written, *records)])
        written += len(records)
        if chance.randrange(2):
            published.append(publisher.publish())
    for each in published:
        expected = ClusterImage()
        expected.replay_all(history.records[: each.applied_offset + 1])
        assert each.image == expected
    for before, after in pairwise(published):
        assert ImageChanges.between(before.image, after.image).partitions <= after.changes.partitions


def test_nothing_is_published_before_it_is_asked_for() -> None:
    publisher = ImagePublisher()
    empty = publisher.published
    publisher.replay([batch(0, ORDERS)])
    assert publisher.published is empty
    assert (empty.applied_offset, empty.epoch, empty.changes) == (-1, -1, ImageChanges())
    published = publisher.publish()
    assert publisher.published is published
    assert (published.applied_offset, published.epoch) == (0, 1)
    assert published.batches == (BatchChanges(0, 0, CREATED),)


def test_what_says_nothing_moves_only_the_offset() -> None:
    publisher = ImagePublisher()
    publisher.replay([batch(0, ORDERS)])
    before = publisher.publish()
    publisher.replay([batch(1, NoOpRecord())])
    after = publisher.publish()
    assert (after.applied_offset, after.batches) == (1, ())
    assert after.image is before.image
    assert publisher.publish() is after


def test_a_transaction_counts_as_one_batch_once_it_has_ended() -> None:
    publisher = ImagePublisher()
    publisher.replay([batch(0, BeginTransactionRecord(name="t"), ORDERS)])
    assert publisher.publish().applied_offset == -1
    publisher.replay([batch(2, EndTransactionRecord())])
    published = publisher.publish()
    assert published.applied_offset == 2
    assert published.batches == (BatchChanges(0, 2, CREATED),)


def test_a_snapshot_replaces_what_was_replayed() -> None:
    publisher = ImagePublisher()
    publisher.replay([batch(0, ORDERS), batch(1, BeginTransactionRecord(name="t"))])
    publisher.publish()
    snapshot = ClusterImage()
    snapshot.replay(MORE)
    publisher.replace(LoadedImage(snapshot, 10, 3))
    published = publisher.publish()
    assert set(published.image.topics.by_name) == {"more"}
    assert (published.applied_offset, published.epoch) == (9, 3)
    assert published.changes == ImageChanges(topics=frozenset({ORDERS.topic_id, MORE.topic_id}))
    publisher.replay([batch(10, NoOpRecord())])
    assert publisher.publish().applied_offset == 10, "the transaction was replaced too"
