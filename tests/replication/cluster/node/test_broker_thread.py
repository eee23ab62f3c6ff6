"""A broker takes its roles from the metadata in which it is registered as it is now, and from nothing else."""

import errno
import os
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest

from logstore.log.state.waiters import ThreadWaiter
from replication.cluster.broker.events.doubted_clock import DoubtedClock
from replication.cluster.broker.events.full_disks import FullDisks
from replication.cluster.broker.lifecycle.errors import BrokerStoppedError
from replication.cluster.broker.replicas.replica_manager import ReplicaManager
from replication.cluster.node.broker_thread import BrokerThread
from replication.cluster.node.metadata_feed import MetadataNews
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.image_changes import ImageChanges, PartitionId
from replication.records.metadata.metadata_version import METADATA_VERSION_FEATURE, MetadataVersion
from replication.records.metadata.records import FeatureLevelRecord, RegisterBrokerRecord, TopicRecord
from tests.replication.cluster.broker.replicas.managed_broker import ME, TOPIC, Broker, made, registered

BROKER, EPOCH = 1, 20


class Replicas:
    """What is applied."""

    def __init__(self) -> None:
        self.applied: list[MetadataNews] = []
        self.closed = False
        self.unassigned: dict[object, UUID] = {}

    def apply(self, image: ClusterImage, changes: ImageChanges) -> None:
        assert not self.closed
        self.applied.append(MetadataNews(image, changes, -1))

    def close(self) -> None:
        self.closed = True

    def check_lag(self) -> None: ...

    def move_on(self) -> None: ...

    def retry(self) -> None: ...

    def take_answers(self) -> None: ...

    def notice_failures(self) -> frozenset[UUID]:
        return frozenset()


class Source:
    """Tells what it is given, one after the other."""

    def __init__(self, *news: MetadataNews | Exception) -> None:
        self.news = list(news)
        self.as_of_ms = -1

    def take(self) -> MetadataNews | None:
        self.as_of_ms += 1
        told = self.news.pop(0) if self.news else None
        if isinstance(told, Exception):
            raise told
        return told

    def close(self) -> None: ...


def news(
    offset: int,
    broker_epoch: int | None,
    topic: int = 0,
    level: int = MetadataVersion.V3_6_IV2,
    directories: tuple[UUID, ...] = (),
) -> MetadataNews:
    """Metadata in which the broker is registered, or not, and in which a topic has changed."""
    image = ClusterImage()
    image.replay(FeatureLevelRecord(name=METADATA_VERSION_FEATURE, feature_level=level))
    image.replay(TopicRecord(name=f"topic-{topic}", topic_id=UUID(int=1_000 + topic)))
    if broker_epoch is not None:
        record = RegisterBrokerRecord(
            broker_id=BROKER,
            incarnation_id=UUID(int=7),
            broker_epoch=broker_epoch,
            end_points=(),
            features=(),
            rack=None,
            fenced=True,
            log_dirs=directories,
        )
        image.replay(record)
    return MetadataNews(image.frozen(), ImageChanges(topics=frozenset({UUID(int=1_000 + topic)})), offset)


class Begun:
    def __init__(self, *told: MetadataNews | Exception, replicas: ReplicaManager | None = None) -> None:
        self.replicas, self.placed, self.registrations = Replicas(), 0, 0
        self.current: list[int] = []
        self.waiter = ThreadWaiter()
        self.thread = BrokerThread(
            Source(*told),
            replicas or cast("ReplicaManager", cast("Any", self.replicas)),
            self.waiter,
            FullDisks([]),
            DoubtedClock([]),
            broker_id=BROKER,
            broker_epoch=lambda: EPOCH,
            directory_failed=lambda _: None,
            placed=self._place,
            resend_registration=self._register,
            current=self.current.append,
            lag_ms=1_000,
        )

    def _place(self) -> None:
        self.placed += 1

    def _register(self) -> None:
        self.registrations += 1

    def begin(self) -> bool:
        self.waiter.wake()
        return self.thread.begin(0.01)


@pytest.mark.parametrize("earlier", [None, EPOCH - 1])
def test_no_role_is_taken_before_its_own_registration_has_come(earlier: int | None) -> None:
    begun = Begun(news(5, earlier))
    assert not begun.begin()
    assert (begun.replicas.applied, begun.thread.applied_offset) == ([], -1)


def test_what_came_before_the_registration_is_taken_with_it() -> None:
    begun = Begun(news(5, EPOCH - 1, topic=1), news(21, EPOCH, topic=2))
    assert begun.begin()
    (applied,) = begun.replicas.applied
    assert applied.changes.topics == {UUID(int=1_001), UUID(int=1_002)}
    assert begun.thread.applied_offset == 21
    assert begun.thread.image.brokers[BROKER].epoch == EPOCH


def test_it_tells_as_of_when_it_has_applied_all_that_there_is() -> None:
    begun = Begun(news(5, EPOCH - 1), news(21, EPOCH))
    assert not Begun(news(5, EPOCH - 1)).current
    assert begun.begin()
    assert begun.current == [1]
    begun.thread._step()  # nothing new
    assert begun.current == [1, 2]


def test_who_is_replaced_leads_nothing_more() -> None:
    begun = Begun(news(21, EPOCH), news(40, EPOCH + 10))
    assert begun.begin()
    begun.thread._step()
    assert begun.replicas.closed
    assert len(begun.replicas.applied) == 1
    assert isinstance(begun.thread.failure, BrokerStoppedError)
    assert begun.thread.stopped


def test_who_is_replaced_does_not_lead_what_a_full_disk_has_kept_it_from(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    broker.take(registered(ME), *made(ME, ME))
    broker.replicas._passing.note(PartitionId(TOPIC, 0), OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    begun = Begun(news(40, EPOCH + 10), replicas=broker.replicas)
    begun.thread._step()
    assert isinstance(begun.thread.failure, BrokerStoppedError)
    assert not broker.replicas.hosted
    broker.directories.close()


def test_metadata_that_cannot_be_followed_ends_it() -> None:
    begun = Begun(news(21, EPOCH), ValueError("diverged"))
    assert begun.begin()
    with pytest.raises(ValueError, match="diverged"):
        begun.thread._step()
    assert "diverged" in str(begun.thread.failure)


def test_who_asks_the_controller_hears_of_replicas_in_new_places() -> None:
    begun = Begun(news(21, EPOCH))
    begun.replicas.unassigned[object()] = UUID(int=3)
    assert begun.begin()
    assert begun.placed == 1


def test_who_is_replaced_before_it_began_does_not_begin() -> None:
    begun = Begun(news(40, EPOCH + 10))
    with pytest.raises(BrokerStoppedError, match="another process"):
        begun.begin()
    assert begun.replicas.applied == []


def test_it_registers_once_more_when_the_controller_begins_to_keep_directories() -> None:
    since = MetadataVersion.V3_7_IV2
    begun = Begun(news(21, EPOCH), news(30, EPOCH, level=since), news(31, EPOCH, level=since))
    assert begun.begin()
    assert begun.registrations == 0
    begun.thread._step()
    assert begun.registrations == 1
    begun.thread._step()
    assert begun.registrations == 1


def test_it_does_not_register_once_more_where_the_controller_has_its_directories() -> None:
    begun = Begun(news(21, EPOCH, level=MetadataVersion.V3_7_IV2, directories=(UUID(int=3),)))
    assert begun.begin()
    assert begun.registrations == 0
