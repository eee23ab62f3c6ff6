"""Of a replica that is damaged below its recovery point nothing is cut but what its leader says that it has."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from epoch import EndOffset
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.cluster.broker.events.partition_events import ReplicaShort, RoleChanged, Standing
from replication.cluster.broker.replicas.damage.damaged_ranges import RangeQuestion
from replication.records.metadata.records import MetadataRecord
from replication.wire.error_code import ErrorCode
from replication.wire.messages.list_offsets import ListedOffset
from replication.wire.messages.offset_for_leader_epoch import EpochAnswer
from tests.replication.cluster.broker.member import format_root
from tests.replication.cluster.broker.replicas.managed_broker import (
    ME,
    ORDERS,
    OTHER,
    Broker,
    changed,
    made,
    registered,
)

NOBODY = -1
RECORDS, DAMAGED = 5, 2
ALONE = changed(leader=NOBODY, isr=(ME,))
LED = changed(leader=OTHER, isr=(OTHER,))


@contextmanager
def started(root: Path, *records: MetadataRecord, accepted: bool = False) -> Iterator[Broker]:
    broker = Broker(root, accepted_losses=[ORDERS] if accepted else [])
    try:
        broker.take(registered(ME), registered(OTHER, 9_093), *records)
        yield broker
    finally:
        broker.replicas.close()
        broker.directories.close()


def segment(root: Path) -> Path:
    (log,) = (root / "orders-0").glob("*.log")
    return log


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Five records on stable storage, the third damaged, after a crash."""
    root = tmp_path / "root"
    format_root(root, ME)
    with started(root, *made(ME, ME, OTHER)) as broker:
        log = broker.directories.get(ORDERS)
        assert log is not None
        for _ in range(RECORDS):
            log.append([b"paid"], leader_epoch=0)
        log.update_high_watermark(RECORDS)
    (root / CLEAN_SHUTDOWN_NAME).unlink()
    content = bytearray(segment(root).read_bytes())
    content[len(content) // RECORDS * DAMAGED + 20] ^= 1
    segment(root).write_bytes(content)
    return root


def asked(broker: Broker) -> RangeQuestion:
    question = broker.replicas.damaged_ranges.next()
    assert question is not None
    return question


def answer(broker: Broker, *, epoch: int = 0, end: int = RECORDS, start: int = 0) -> None:
    """Let the leader answer, and the broker hear it."""
    question = asked(broker)
    ends = EpochAnswer(ErrorCode.NONE, EndOffset(epoch, end))
    missing = question.damaged.missing(ends, ListedOffset(ErrorCode.NONE, start))
    broker.replicas.damaged_ranges.answered(question, missing)
    broker.replicas.take_answers()


def told(broker: Broker) -> list[Standing]:
    return [event.standing for event in broker.told if isinstance(event, ReplicaShort)]


def why(broker: Broker) -> str:
    return [event.why for event in broker.told if isinstance(event, RoleChanged)][-1]


def aside(root: Path) -> bytes:
    (path,) = (root / "orders-0").glob("*.set-aside")
    return path.read_bytes()


def test_nothing_of_it_is_cut_while_nobody_leads(root: Path) -> None:
    before = segment(root).read_bytes()
    for _ in range(2):
        with started(root, *made(ME, ME, OTHER), ALONE) as broker:
            assert broker.replicas.are_withheld
            assert broker.replicas.hosted.offline == {ORDERS}
            assert BrokerIdentity.of(broker.directories).previous_broker_epoch == -1
            assert told(broker) == [Standing.WITHHELD]
            assert broker.replicas.damaged_ranges.next() is None
            name, position = segment(root).name, len(before) // RECORDS * DAMAGED
            assert f"is damaged from offset 2 on, in {name} at position {position}" in why(broker)
            assert "epochlog repair" in why(broker)
        assert segment(root).read_bytes() == before


def test_what_its_leader_has_is_set_aside_and_cut_and_the_leader_followed(root: Path) -> None:
    before = segment(root).read_bytes()
    with started(root, *made(ME, ME, OTHER), LED) as broker:
        assert not broker.replicas.are_withheld
        assert broker.replicas.hosted.offline == {ORDERS}
        question = asked(broker).damaged
        assert (question.first_offset, question.end_offset, question.epoch) == (DAMAGED, RECORDS, 0)
        assert segment(root).read_bytes() == before
        answer(broker)
        assert not broker.replicas.hosted.offline
        assert ORDERS in broker.fetchers.leaders
        assert broker.replicas.hosted[ORDERS].log.log_end_offset == DAMAGED
        assert told(broker) == [Standing.WITHHELD, Standing.USED]
        assert not broker.replicas.has_lost_tail
        position = len(before) // RECORDS * DAMAGED
        assert aside(root) == before[position:]


@pytest.mark.parametrize(
    ("lacks", "said"),
    [
        ({"end": RECORDS - 1}, "epoch 0 ends at 4"),
        ({"epoch": -1, "end": -1}, "epoch -1 ends at -1"),
        ({"start": DAMAGED + 1}, "begins at offset 3"),
    ],
)
def test_what_its_leader_lacks_is_kept(root: Path, lacks: dict[str, int], said: str) -> None:
    before = segment(root).read_bytes()
    with started(root, *made(ME, ME, OTHER), LED) as broker:
        answer(broker, **lacks)
        assert broker.replicas.hosted.offline == {ORDERS}
        assert told(broker) == [Standing.WITHHELD, Standing.WITHHELD]
        (*_, last) = (event for event in broker.told if isinstance(event, ReplicaShort))
        assert said in str(last.fields()["why"])
        assert "--accept-loss orders-0" in str(last.fields()["next"])
        assert broker.replicas.damaged_ranges.next() is None
        broker.take(changed(leader=OTHER))
        answer(broker)  # as another leader, or the same in a later epoch
        assert not broker.replicas.hosted.offline
    assert aside(root) in before


def test_a_leader_that_does_not_answer_is_asked_again(root: Path) -> None:
    with started(root, *made(ME, ME, OTHER), LED) as broker:
        question = asked(broker)
        refused = EpochAnswer(ErrorCode.NOT_LEADER_OR_FOLLOWER, EndOffset(-1, -1))
        with pytest.raises(LookupError, match="NOT_LEADER_OR_FOLLOWER"):
            question.damaged.missing(refused, ListedOffset(ErrorCode.NONE, 0))
        broker.replicas.damaged_ranges.failed(question)
        assert asked(broker) == question


def test_an_answer_of_an_earlier_leader_counts_no_more(root: Path) -> None:
    with started(root, *made(ME, ME, OTHER), LED) as broker:
        question = asked(broker)
        broker.take(changed(leader=OTHER))
        broker.replicas.damaged_ranges.answered(question, "")
        broker.replicas.take_answers()
        assert broker.replicas.hosted.offline == {ORDERS}


def test_one_that_does_not_know_its_epochs_is_kept(root: Path) -> None:
    (root / "orders-0" / "leader-epoch-checkpoint").unlink()
    with started(root, *made(ME, ME, OTHER), LED) as broker:
        assert broker.replicas.hosted.offline == {ORDERS}
        assert broker.replicas.damaged_ranges.next() is None


def test_the_only_one_is_kept_until_its_loss_is_accepted(root: Path) -> None:
    before = segment(root).read_bytes()
    with started(root, *made(ME, ME)) as broker:
        assert broker.replicas.hosted.offline == {ORDERS}
        assert not broker.replicas.are_withheld
    assert segment(root).read_bytes() == before
    with started(root, *made(ME, ME), accepted=True) as broker:
        assert broker.led()
        assert told(broker) == [Standing.ACCEPTED]
    assert aside(root) in before


def test_what_was_never_on_stable_storage_is_cut_as_by_kafka_and_set_aside_where_it_is_not_torn(root: Path) -> None:
    before = segment(root).read_bytes()
    (root / "recovery-point-offset-checkpoint").write_text("0\n1\norders 0 2\n")
    (root / "replication-offset-checkpoint").write_text("0\n1\norders 0 2\n")
    with started(root, *made(ME, ME, OTHER), ALONE) as broker:
        assert not broker.replicas.are_withheld
        assert not told(broker)
    assert aside(root) in before


def test_a_damaged_log_of_a_deleted_topic_is_left_alone(root: Path) -> None:
    before = segment(root).read_bytes()
    with started(root, *made(OTHER, OTHER)) as broker:
        assert not told(broker)
    assert segment(root).read_bytes() == before


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Three segments of two records each, closed in order; the second segment is gone since."""
    root = tmp_path / "root"
    format_root(root, ME)
    with started(root, *made(ME, ME, OTHER)) as broker:
        log = broker.directories.get(ORDERS)
        assert log is not None
        for _ in range(3):
            log.roll()
            log.append([b"paid"], leader_epoch=0)
            log.append([b"paid"], leader_epoch=0)
        log.update_high_watermark(6)
    for path in (root / "orders-0").glob(f"{2:020}.*"):
        path.unlink()
    return root


def test_a_segment_that_is_missing_in_the_middle_is_noticed_though_the_broker_stopped_in_order(broken: Path) -> None:
    for _ in range(2):
        with started(broken, *made(ME, ME, OTHER), ALONE) as broker:
            assert broker.replicas.are_withheld
            assert broker.replicas.hosted.offline == {ORDERS}
            assert BrokerIdentity.of(broker.directories).previous_broker_epoch == -1
            assert f"from offset 2 on, in {2:020}.log" in why(broker)


def test_what_lies_behind_a_missing_segment_is_set_aside_once_the_leader_has_it_all(broken: Path) -> None:
    with started(broken, *made(ME, ME, OTHER), LED) as broker:
        question = asked(broker).damaged
        assert (question.first_offset, question.end_offset, question.epoch) == (2, 6, 0)
        answer(broker, end=6)
        assert broker.replicas.hosted[ORDERS].log.log_end_offset == 2
        assert ORDERS in broker.fetchers.leaders
    assert [path.name for path in (broken / "orders-0").glob("*.set-aside")] == [f"{4:020}.log.set-aside"]


def test_lost_first_segments_are_copied_from_the_leader_or_given_up_by_who_accepts_it(broken: Path) -> None:
    for path in (broken / "orders-0").glob(f"{0:020}.*"):
        path.unlink()
    with started(broken, *made(ME, ME, OTHER), ALONE, accepted=True) as broker:
        log = broker.replicas.hosted[ORDERS].log
        assert (log.log_start_offset, log.log_end_offset) == (4, 6)
    with started(broken, *made(ME, ME, OTHER), ALONE) as broker:
        assert not told(broker)


def test_a_replica_without_its_beginning_begins_where_it_began(broken: Path) -> None:
    for path in (broken / "orders-0").glob(f"{0:020}.*"):
        path.unlink()
    with started(broken, *made(ME, ME, OTHER), LED) as broker:
        answer(broker, end=6)
        log = broker.replicas.hosted[ORDERS].log
        assert (log.log_start_offset, log.log_end_offset) == (0, 0)
