"""A broker of ours among several real controllers: whichever leads, and from a snapshot where the log was cut."""

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from logstore.directory.log_directories import LogDirectories
from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.cluster.broker.lifecycle.broker_agent import BrokerAgent
from replication.cluster.broker.lifecycle.lifecycle import BrokerState
from replication.cluster.quorum import fetched_snapshot
from replication.records.metadata.loading import load_image
from tests.oracle.cluster import CONTROLLER
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.broker.lifecycle.quorum import Quorum
from tests.replication.cluster.broker.member import SECONDS, SESSION_MS, Ear, format_root, run, settings, wait_until

OURS = 9
SMALL_LOG = {
    "broker.session.timeout.ms": SESSION_MS,
    "metadata.log.max.record.bytes.between.snapshots": 500,
    "metadata.log.max.snapshot.interval.ms": 1_000,
    "internal.metadata.log.segment.bytes": 1_024,
    "metadata.log.segment.ms": 1_000,
    "metadata.max.retention.bytes": 1_024,
    "metadata.max.retention.ms": 1_000,
    "internal.metadata.delete.delay.millis": 100,
}


@pytest.fixture(scope="module")
def quorum(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[Quorum]:
    with Quorum(tmp_path_factory.mktemp("quorum"), release, SMALL_LOG) as quorum:
        yield quorum


@pytest.fixture
def directories(tmp_path: Path) -> Iterator[LogDirectories]:
    format_root(tmp_path / "ours", OURS)
    with LogDirectories.open([tmp_path / "ours"], replicated=True) as directories:
        yield directories


def agent(quorum: Quorum, directories: LogDirectories, ear: Ear, copy: Path | None = None) -> BrokerAgent:
    bootstrap = ",".join(quorum.addresses.values())
    identity = BrokerIdentity.of(directories)
    return BrokerAgent(bootstrap, identity, settings(session_timeout_ms=9_000), observer=ear, metadata_directory=copy)


def wait_until_gone(path: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while path.exists():
        assert time.monotonic() < deadline, "the controller keeps all of its log"
        time.sleep(0.1)


def test_another_controller_that_leads_is_found_and_the_epoch_stays(
    quorum: Quorum, directories: LogDirectories
) -> None:
    ear = Ear()
    with closing(agent(quorum, directories, ear)) as member:
        run(member)
        node = next(node for node, address in quorum.addresses.items() if address == ear.controllers[-1])
        quorum.kill(node)
        ear.wait_for(lambda: ear.controllers[-1] != quorum.addresses[node])
        applied = member.metadata.applied_offset
        assert member.metadata.wait_for(lambda _: member.metadata.applied_offset > applied, SECONDS)
        wait_until(member, fenced=False)
        assert member.state is BrokerState.RUNNING
        assert ear.epochs == [member.broker_epoch]
        quorum.start(node)
        member.leave(SECONDS)
    assert ear.states[-2:] == [BrokerState.PENDING_CONTROLLED_SHUTDOWN, BrokerState.SHUTTING_DOWN]


def test_metadata_comes_in_a_snapshot_where_the_log_was_cut(
    quorum: Quorum, directories: LogDirectories, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetched_snapshot, "_MAX_BYTES", 100)  # many pieces
    pieces = []
    take = fetched_snapshot.FetchedSnapshot.take
    monkeypatch.setattr(
        fetched_snapshot.FetchedSnapshot, "take", lambda each, piece: pieces.append(piece.position) or take(each, piece)
    )
    ear = Ear()
    log = quorum.log_dir(CONTROLLER) / "__cluster_metadata-0"
    wait_until_gone(log / f"{0:020d}.log")
    with closing(agent(quorum, directories, ear)) as member:
        run(member)
        assert len(pieces) > 1
        with member.metadata.image() as image:
            theirs = load_image(log).image
            assert image.features == theirs.features
            assert image.brokers[OURS].epoch == theirs.brokers[OURS].epoch
            assert image.controllers == theirs.controllers
        member.leave(SECONDS)


def first_offset(directory: Path) -> int:
    return min(int(path.stem) for path in directory.glob("*.log"))


def test_a_start_goes_on_from_the_copy_and_from_a_snapshot_where_the_quorum_no_longer_has_what_follows(
    quorum: Quorum, directories: LogDirectories, tmp_path: Path
) -> None:
    copy = tmp_path / "metadata"
    partition = copy / "__cluster_metadata-0"
    with closing(agent(quorum, directories, Ear(), copy)) as member:
        run(member)
        member.leave(SECONDS)
    before = member.metadata.published
    assert load_image(partition).image.brokers[OURS].epoch == member.broker_epoch

    ear = Ear()
    with closing(agent(quorum, directories, ear, copy)) as again:
        run(again)
        assert (ear.published[0].applied_offset, ear.published[0].image) == (before.applied_offset, before.image)
        assert not list(partition.glob("*.part"))
        again.leave(SECONDS)
    before = again.metadata.published

    deadline = time.monotonic() + SECONDS
    while any(
        first_offset(quorum.log_dir(node) / "__cluster_metadata-0") <= before.applied_offset + 1
        for node in quorum.addresses
    ):
        assert time.monotonic() < deadline, "the controllers keep all of their logs"
        time.sleep(0.1)
    ear = Ear()
    with closing(agent(quorum, directories, ear, copy)) as last:
        run(last)
        assert ear.published[0].image == before.image
        last.leave(SECONDS)
    (snapshot,) = partition.glob("*.checkpoint")
    assert first_offset(partition) == int(snapshot.name[:20]) > before.applied_offset
    assert load_image(partition).image.brokers[OURS].epoch == last.broker_epoch
