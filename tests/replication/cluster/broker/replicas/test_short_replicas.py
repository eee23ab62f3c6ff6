"""A replica that has less than its broker's checkpoint files have said leads nobody, and is led where it can be."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from logstore import Log
from logstore.directory.log_directories import LogDirectories
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.broker.lost_tail import LostTail
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from logstore.files.root_checkpoints import PartitionCheckpoints
from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.cluster.broker.events.partition_events import ReplicaShort, RoleChanged, Standing
from replication.records.metadata.records import (
    UNASSIGNED_DIRECTORY,
    MetadataRecord,
    PartitionRecord,
    RemoveTopicRecord,
)
from tests.replication.cluster.broker.member import format_root
from tests.replication.cluster.broker.replicas.managed_broker import (
    ME,
    ORDERS,
    OTHER,
    TOPIC,
    Broker,
    changed,
    made,
    registered,
)

Damage = Callable[[Path], None]
NOBODY = -1
RECORDS = 5
ALONE = changed(leader=NOBODY, isr=(ME,))
LED = changed(leader=OTHER, isr=(OTHER,))
HERE, ELSEWHERE = UUID(int=1_001), UUID(int=50)
"""Directories' ids: of the root, and of another broker's."""


@contextmanager
def started(root: Path, *records: MetadataRecord, accepted: bool = False) -> Iterator[Broker]:
    """Start a broker whose metadata is there already."""
    broker = Broker(root, accepted_losses=[ORDERS] if accepted else [])
    try:
        broker.take(registered(ME), registered(OTHER, 9_093), *records)
        yield broker
    finally:
        broker.replicas.close()
        broker.directories.close()


def lose_directory(root: Path) -> None:
    shutil.rmtree(root / "orders-0")


def cut(root: Path) -> None:
    (log,) = (root / "orders-0").glob("*.log")
    os.truncate(log, log.stat().st_size // RECORDS * (RECORDS - 1))


def empty(root: Path) -> None:
    (log,) = (root / "orders-0").glob("*.log")
    os.truncate(log, 0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A replica with five committed records, closed in order."""
    root = tmp_path / "root"
    format_root(root, ME)
    with started(root, *made(ME, ME, OTHER)) as broker:
        log = broker.directories.get(ORDERS)
        assert log is not None
        for _ in range(RECORDS):
            log.append([b"paid"], leader_epoch=0)
        log.update_high_watermark(RECORDS)
        broker.directories.broker_epoch = 8
    return root


@pytest.fixture(params=[lose_directory, cut, empty])
def damaged(root: Path, request: pytest.FixtureRequest) -> Path:
    request.param(root)
    return root


def told(broker: Broker) -> list[Standing]:
    return [event.standing for event in broker.told if isinstance(event, ReplicaShort)]


def test_a_broker_that_has_all_names_its_former_epoch_and_is_unfenced(root: Path) -> None:
    with started(root, *made(ME, ME, OTHER), ALONE) as broker:
        assert BrokerIdentity.of(broker.directories).previous_broker_epoch == 8
        assert not broker.replicas.are_withheld
        assert not told(broker)


def test_one_that_lacks_something_does_not_name_its_former_epoch(damaged: Path) -> None:
    """So the controller takes it for one that has crashed, and counts on others (KIP-966)."""
    for _ in range(2):
        with started(damaged, *made(ME, ME, OTHER), ALONE) as broker:
            assert BrokerIdentity.of(broker.directories).previous_broker_epoch == -1
            assert broker.replicas.has_lost_tail


@pytest.mark.parametrize(
    "state",
    [
        changed(leader=NOBODY, isr=(ME,)),
        changed(leader=NOBODY, isr=(), eligible_leader_replicas=(ME,)),
        changed(leader=NOBODY, isr=(), last_known_elr=(ME,)),
        changed(leader=OTHER, isr=(OTHER, ME)),
        changed(leader=ME, isr=(ME,)),
    ],
)
def test_it_is_withheld_while_it_would_be_elected(damaged: Path, state: MetadataRecord) -> None:
    for _ in range(2):
        with started(damaged, *made(ME, ME, OTHER), state) as broker:
            assert broker.replicas.are_withheld
            assert broker.replicas.hosted.offline == {ORDERS}
            assert told(broker) == [Standing.WITHHELD]
            broker.take(registered(OTHER, 9_094))
            assert told(broker) == [Standing.WITHHELD]


def test_what_is_missing_and_all_ways_out_are_named(damaged: Path) -> None:
    with started(damaged, *made(ME, ME, OTHER), ALONE) as broker:
        why = [event.why for event in broker.told if isinstance(event, RoleChanged)][-1]
    assert f"{damaged}/orders-0 " in why
    assert "the recovery point 5 and the high watermark 5" in why
    assert "start the brokers of the others" in why
    assert "kafka-leader-election.sh" in why
    assert "put the directory back as it was" in why
    assert "--accept-loss orders-0" in why


def test_it_follows_whoever_leads_and_has_caught_up_before_anybody_counts_on_it(damaged: Path) -> None:
    with started(damaged, *made(ME, ME, OTHER), ALONE) as broker:
        broker.take(LED)
        assert not broker.replicas.are_withheld
        assert not broker.replicas.has_lost_tail
        assert not broker.replicas.hosted.offline
        assert ORDERS in broker.fetchers.leaders
        assert told(broker) == [Standing.WITHHELD, Standing.USED]
    with started(damaged, *made(ME, ME, OTHER), ALONE) as broker:
        assert not told(broker)


def test_one_that_others_may_lead_waits_for_them_without_being_withheld(root: Path) -> None:
    cut(root)
    state = changed(leader=NOBODY, isr=(), eligible_leader_replicas=(OTHER,))
    with started(root, *made(ME, ME, OTHER), state) as broker:
        assert not broker.replicas.are_withheld
        assert told(broker) == [Standing.USED]


def test_one_whose_directory_is_gone_begins_anew_only_under_a_leader(root: Path) -> None:
    lose_directory(root)
    state = changed(leader=NOBODY, isr=(), eligible_leader_replicas=(OTHER,))
    with started(root, *made(ME, ME, OTHER), state) as broker:
        assert not (root / "orders-0").exists()
        broker.take(LED)
        assert (root / "orders-0").exists()


def test_whose_loss_is_accepted_leads_with_what_is_left(damaged: Path) -> None:
    with started(damaged, *made(ME, ME, OTHER), ALONE):
        pass
    with started(damaged, *made(ME, ME, OTHER), ALONE, accepted=True) as broker:
        assert not broker.replicas.are_withheld
        assert told(broker) == [Standing.ACCEPTED]
        broker.take(changed(leader=ME))
        assert broker.led()
    with started(damaged, *made(ME, ME, OTHER), ALONE) as broker:
        assert not told(broker)


def test_a_lost_tail_that_was_noted_before_is_accepted_too(root: Path) -> None:
    LostTail(end=4, former_end=5, leader_epoch=0, was_recovering=False).keep(root / "orders-0")
    with started(root, *made(ME, ME, OTHER), ALONE) as broker:
        assert broker.replicas.are_withheld
    with started(root, *made(ME, ME, OTHER), ALONE, accepted=True) as broker:
        assert not broker.replicas.are_withheld
        assert not broker.replicas.hosted.offline
    with started(root, *made(ME, ME, OTHER), ALONE) as broker:
        assert not broker.replicas.are_withheld


def test_the_only_replica_is_offline_and_the_broker_is_not_withheld_for_it(damaged: Path) -> None:
    """Nobody else could be elected: all else that this broker has is served."""
    with started(damaged, *made(ME, ME)) as broker:
        assert not broker.replicas.are_withheld
        assert broker.replicas.hosted.offline == {ORDERS}
        why = [event.why for event in broker.told if isinstance(event, RoleChanged)][-1]
        assert "there is no other replica" in why
    with started(damaged, *made(ME, ME), accepted=True) as broker:
        assert broker.led()


def test_what_is_put_back_leads(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "orders-0", tmp_path / "copy")
    lose_directory(root)
    with started(root, *made(ME, ME, OTHER), ALONE) as broker:
        assert broker.replicas.are_withheld
    shutil.copytree(tmp_path / "copy", root / "orders-0")
    with started(root, *made(ME, ME, OTHER), changed(leader=ME, isr=(ME,))) as broker:
        assert broker.led()
        log = broker.directories.get(ORDERS)
        assert isinstance(log, Log)
        assert log.log_end_offset == RECORDS


def empty_root(root: Path) -> None:
    """Nothing is left but what says that the broker has stopped in order, and which directory it is."""
    for path in root.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in (CLEAN_SHUTDOWN_NAME, META_PROPERTIES_NAME):
            path.unlink()


@pytest.fixture
def vanished(root: Path) -> Path:
    empty_root(root)
    return root


def lies_in(directory: UUID, *replicas: int) -> list[MetadataRecord]:
    topic, first = made(ME, *replicas)
    assert isinstance(first, PartitionRecord)
    return [topic, replace(first, directories=tuple(directory if each == ME else ELSEWHERE for each in replicas))]


@pytest.mark.parametrize(
    "state",
    [
        changed(leader=NOBODY, isr=(ME,)),
        changed(leader=NOBODY, isr=(), eligible_leader_replicas=(ME,)),
        changed(leader=NOBODY, isr=(), last_known_elr=(ME,)),
        changed(leader=NOBODY, isr=(), eligible_leader_replicas=(OTHER,), last_known_elr=(ME,)),
        changed(leader=OTHER, isr=(OTHER, ME)),
        changed(leader=ME, isr=(ME,)),
    ],
)
def test_one_that_the_metadata_has_here_is_withheld_though_no_file_speaks_of_it(
    vanished: Path, state: MetadataRecord
) -> None:
    evidence = "by the cluster's metadata it is in this root"
    for _ in range(3):
        with started(vanished, *lies_in(HERE, ME, OTHER), state) as broker:
            assert broker.replicas.are_withheld
            assert broker.replicas.has_lost_tail
            assert not (vanished / "orders-0").exists()
            assert told(broker) == [Standing.WITHHELD]
            why = [event.why for event in broker.told if isinstance(event, RoleChanged)][-1]
            assert f"{vanished}/orders-0 is gone, and no checkpoint file says how far it reached" in why
            assert evidence in why
            evidence = "an earlier start has missed it"
            assert "--accept-loss orders-0" in why
            (event,) = (event for event in broker.told if isinstance(event, ReplicaShort))
            assert event.fields()["recovery_point"] is None


def test_one_that_no_file_speaks_of_follows_whoever_leads(vanished: Path) -> None:
    with started(vanished, *lies_in(HERE, ME, OTHER), ALONE) as broker:
        broker.take(LED)
        assert not broker.replicas.are_withheld
        assert not broker.replicas.has_lost_tail
        assert ORDERS in broker.fetchers.leaders
        assert told(broker) == [Standing.WITHHELD, Standing.USED]
    with started(vanished, *lies_in(HERE, ME, OTHER), ALONE) as broker:
        assert not told(broker)


def test_one_that_no_file_speaks_of_leads_where_the_loss_is_accepted(vanished: Path) -> None:
    with started(vanished, *lies_in(HERE, ME, OTHER), ALONE):
        pass
    with started(vanished, *lies_in(HERE, ME, OTHER), ALONE, accepted=True) as broker:
        assert told(broker) == [Standing.ACCEPTED]
        assert not broker.replicas.are_withheld
        broker.take(changed(leader=ME))
        assert broker.led()
    with started(vanished, *lies_in(HERE, ME, OTHER), ALONE) as broker:
        assert not told(broker)


def test_the_only_one_in_a_root_that_lost_its_files_is_offline_at_each_start(root: Path) -> None:
    """The root has checkpoint files again after the first of them."""
    empty_root(root)
    for _ in range(3):
        with started(root, *lies_in(HERE, ME), changed(leader=NOBODY)) as broker:
            assert not broker.replicas.are_withheld
            assert broker.replicas.hosted.offline == {ORDERS}
    with started(root, *lies_in(HERE, ME), changed(leader=ME), accepted=True) as broker:
        assert broker.led()


@pytest.mark.parametrize("has_another", [False, True], ids=["nothing is left", "another log is left"])
@pytest.mark.parametrize("stop", [LogDirectories.close, LogDirectories.abandon])
def test_one_that_no_file_speaks_of_is_missed_by_a_later_start_where_an_earlier_one_met_no_controller(
    vanished: Path, stop: Callable[[LogDirectories], None], *, has_another: bool
) -> None:
    if has_another:
        with Log.open(vanished / "others-0", checkpoints=PartitionCheckpoints(), replicated=True) as log:
            log.append([b"paid"], leader_epoch=0)
    for _ in range(2):
        broker = Broker(vanished)
        broker.replicas.close()
        for each in broker.directories.roots:
            each.checkpoint()
        stop(broker.directories)
    with started(vanished, *lies_in(HERE, ME, OTHER), changed(leader=NOBODY, isr=(), last_known_elr=(ME,))) as broker:
        assert broker.replicas.are_withheld
        assert told(broker) == [Standing.WITHHELD]


@pytest.mark.parametrize(
    "records",
    [
        lies_in(HERE, ME, OTHER),
        [*lies_in(ELSEWHERE, ME, OTHER), changed(leader=OTHER, isr=(OTHER,))],
        [*lies_in(UNASSIGNED_DIRECTORY, ME, OTHER), ALONE],
        [*made(ME, ME, OTHER), ALONE],
        [*lies_in(HERE, ME, OTHER), changed(leader=OTHER, isr=(OTHER,), adding_replicas=(ME,))],
        [*lies_in(HERE, ME, OTHER), changed(leader=NOBODY, isr=(OTHER,))],
    ],
)
def test_one_of_which_the_metadata_does_not_say_that_it_was_here_in_sync_begins(
    vanished: Path, records: list[MetadataRecord]
) -> None:
    with started(vanished, *records) as broker:
        assert not told(broker)
        assert not broker.replicas.are_withheld
        assert (vanished / "orders-0").exists()


def test_one_that_was_never_made_in_a_root_that_has_lost_nothing_begins(tmp_path: Path) -> None:
    """Its broker was killed in its first life, before it knew of it."""
    root = tmp_path / "new"
    format_root(root, ME)
    broker = Broker(root)
    broker.take(registered(ME))
    broker.replicas.close()
    broker.directories.abandon()
    with started(root, *lies_in(HERE, ME, OTHER), ALONE) as broker:
        assert not told(broker)
        assert not broker.replicas.are_withheld


def test_one_that_is_made_in_this_life_begins_whatever_becomes_of_it_at_once(root: Path) -> None:
    with started(root) as broker:
        broker.take(*lies_in(HERE, ME, OTHER), ALONE)
        assert not told(broker)


def test_of_partitions_that_are_not_this_brokers_any_more_nothing_is_missing(damaged: Path) -> None:
    with started(damaged, *made(OTHER, OTHER)) as broker:
        assert not broker.replicas.has_lost_tail
        assert not told(broker)


def test_a_partition_that_is_deleted_keeps_nobody_fenced(damaged: Path) -> None:
    with started(damaged, *made(ME, ME, OTHER), ALONE) as broker:
        assert broker.replicas.are_withheld
        broker.take(RemoveTopicRecord(topic_id=UUID(int=TOPIC.int)))
        assert not broker.replicas.are_withheld
        assert not broker.replicas.has_lost_tail
