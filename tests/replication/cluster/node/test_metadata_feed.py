"""What a broker has yet to take of the metadata: all of it at first, and then what has changed."""

from uuid import UUID

import pytest

from replication.cluster.node.metadata_feed import MetadataFeed
from replication.records.metadata.batches import MetadataBatch
from replication.records.metadata.image_publisher import ImagePublisher
from replication.records.metadata.records import TopicRecord


class Publisher(ImagePublisher):
    """Publishes one topic after the other."""

    def create(self, number: int) -> None:
        record = TopicRecord(name=f"topic-{number}", topic_id=topic(number))
        self.replay([MetadataBatch(number, number, 1, 0, (record,))])
        self.publish()


def topic(number: int) -> UUID:
    return UUID(int=1_000 + number)


def test_it_begins_with_all_and_goes_on_with_what_has_changed_as_one() -> None:
    publisher = Publisher()
    publisher.create(0)
    publisher.create(1)
    feed = MetadataFeed(publisher.published)
    first = feed.take()
    assert first is not None
    assert (first.changes.topics, first.applied_offset) == ({topic(0), topic(1)}, 1)
    assert feed.take() is None
    for number in (2, 3):
        publisher.create(number)
        feed.put(publisher.published)
    later = feed.take()
    assert later is not None
    assert (later.changes.topics, later.applied_offset) == ({topic(2), topic(3)}, 3)
    assert later.image is publisher.published.image


def test_what_had_come_is_taken_before_it_is_told_that_nothing_comes_any_more() -> None:
    feed = MetadataFeed(Publisher().published)
    feed.failure = ValueError("diverged")
    assert feed.take() is not None
    with pytest.raises(ValueError, match="diverged"):
        feed.take()


def test_who_takes_no_more_says_so() -> None:
    dropped: list[MetadataFeed] = []
    feed = MetadataFeed(Publisher().published, dropped.append)
    feed.close()
    assert dropped == [feed]
