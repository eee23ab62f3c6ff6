"""Which batches contradict what a producer wrote before, and which a broker may have accepted."""

from pathlib import Path

import pytest

from epoch.checkpoint import format_checkpoint
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.verify import Finding, Severity, verify_root
from tests.logstore.batches import TRANSACTIONAL, batch, record
from tests.logstore.verify.logs import COMMIT, COMPACTED, findings, kinds, marker, thinned, transactional, write_log

BROKEN = "producer-sequence-broken"


def of_producer(
    base_offset: int,
    sequence: int,
    count: int = 1,
    *,
    epoch: int = 0,
    in_transaction: bool = False,
    producer: int = 7,
    leader_epoch: int = 0,
) -> bytes:
    return batch(
        records=[record(offset_delta=delta) for delta in range(count)],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        attributes=TRANSACTIONAL if in_transaction else 0,
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
    )


def broken(found: list[Finding]) -> list[tuple[Severity, int | None]]:
    assert {each.kind for each in found} <= {BROKEN}
    return [(each.severity, each.offset) for each in found]


class TestWhatBrokersAccept:
    def check(self, root: Path, *batches: bytes) -> None:
        assert findings(write_log(root, {0: list(batches)}), records=True) == []

    def test_any_number_of_a_producer_that_is_new_to_the_log(self, tmp_path: Path) -> None:
        self.check(tmp_path, of_producer(0, 41, 3), of_producer(3, 44))

    def test_producers_do_not_disturb_each_other(self, tmp_path: Path) -> None:
        self.check(tmp_path, of_producer(0, 0, 2), of_producer(2, 0, producer=8), of_producer(3, 2))

    def test_a_new_epoch_begins_at_0(self, tmp_path: Path) -> None:
        self.check(tmp_path, of_producer(0, 0, 5), of_producer(5, 0, epoch=1), of_producer(6, 1, epoch=1))

    def test_numbers_start_over_after_the_largest(self, tmp_path: Path) -> None:
        self.check(tmp_path, of_producer(0, 2**31 - 2, 3), of_producer(3, 1), of_producer(4, 2))

    def test_no_numbers_where_a_coordinator_writes_for_a_producer(self, tmp_path: Path) -> None:
        self.check(tmp_path, transactional(7, 0), transactional(7, 1), marker(7, 2, COMMIT), of_producer(3, 0))

    def test_a_coordinator_may_begin_each_batch_at_0(self, tmp_path: Path) -> None:
        coordinators = [of_producer(offset, 0, producer=7, in_transaction=True) for offset in range(3)]
        plain = batch(records=[record()], base_offset=3, base_sequence=0)
        log = [*coordinators, plain, marker(7, 4, COMMIT)]
        assert kinds(write_log(tmp_path, {0: log}, name=COMPACTED), records=True) == []

    def test_writing_outside_of_a_transaction_that_has_ended(self, tmp_path: Path) -> None:
        begun = of_producer(0, 0, in_transaction=True)
        self.check(tmp_path, begun, marker(7, 1, COMMIT), of_producer(2, 1))


@pytest.mark.parametrize(
    "second",
    [of_producer(5, 6), of_producer(5, 4), of_producer(5, 5, epoch=0), of_producer(5, 1, epoch=2)],
    ids=["a number is missing", "a number comes twice", "an older epoch", "a new epoch that does not begin at 0"],
)
def test_an_idle_producer_may_have_been_forgotten(tmp_path: Path, second: bytes) -> None:
    directory = write_log(tmp_path, {0: [of_producer(0, 0, 5, epoch=1), second]})
    found = findings(directory)
    assert broken(found) == [(Severity.INFO, 5)]
    assert "producer.id.expiration.ms" in found[0].message


@pytest.mark.parametrize(("sequence", "epoch"), [(6, 1), (4, 1), (5, 0), (1, 2)])
def test_a_producer_in_a_transaction_is_not_forgotten(tmp_path: Path, sequence: int, epoch: int) -> None:
    batches = of_producer(0, 0, 5, epoch=1, in_transaction=True), of_producer(5, sequence, 1, epoch=epoch)
    in_transaction = of_producer(5, sequence, 1, epoch=epoch, in_transaction=True)
    (found,) = findings(write_log(tmp_path, {0: [batches[0], in_transaction]}))
    assert (found.kind, found.severity, found.offset) == (BROKEN, Severity.WARNING, 5)
    assert "producer.id.expiration.ms" not in found.message


def test_a_batch_outside_of_the_transaction_that_is_open(tmp_path: Path) -> None:
    log = [of_producer(0, 0, in_transaction=True), of_producer(1, 1), marker(7, 2, COMMIT)]
    assert broken(findings(write_log(tmp_path, {0: log}))) == [(Severity.WARNING, 1)]


def test_a_new_leader_may_have_lost_the_transaction(tmp_path: Path) -> None:
    log = [of_producer(0, 0, in_transaction=True), of_producer(1, 5, leader_epoch=1)]
    directory = write_log(tmp_path, {0: log})
    (directory / "leader-epoch-checkpoint").write_bytes(format_checkpoint([(0, 0), (1, 1)]))
    assert broken(findings(directory)) == [(Severity.INFO, 1), (Severity.INFO, 1)]


def test_doubts_are_bounded_and_do_not_hide_what_is_certain(tmp_path: Path) -> None:
    idle = [of_producer(offset, 7 * offset, producer=offset % 2) for offset in range(300)]
    log = [*idle, of_producer(300, 0, producer=8, in_transaction=True)]
    log += [of_producer(301, 2, producer=8, in_transaction=True)]
    found = broken(findings(write_log(tmp_path, {0: log})))
    assert found[0] == (Severity.WARNING, 301)
    assert [severity for severity, _ in found[1:]] == [Severity.INFO] * 100


def test_what_was_written_before_the_log_start_is_forgotten(tmp_path: Path) -> None:
    log = [of_producer(0, 0, 5, in_transaction=True), batch(records=[record()], base_offset=5), of_producer(6, 9)]
    write_log(tmp_path, {0: [*log, of_producer(7, 10)]})
    for log_start, expected in ((0, [(Severity.WARNING, 6), (Severity.WARNING, 6)]), (5, [])):
        (tmp_path / "log-start-offset-checkpoint").write_bytes(format_checkpoint([("t", 0, log_start)]))
        found = [each for each in verify_root(OfflineLogDirectory.open(tmp_path)) if each.kind == BROKEN]
        assert broken(found) == expected


def test_nothing_is_compared_where_batches_may_be_missing(tmp_path: Path) -> None:
    log = [of_producer(0, 0), of_producer(1, 5)]
    for name, more, expected in (
        ("damaged", batch(records=[record()], base_offset=2, crc=0), ["corrupt-batch"]),
        ("cleaned", thinned(2), []),
    ):
        (tmp_path / name).mkdir()
        assert kinds(write_log(tmp_path / name, {0: [*log, more]})) == expected


@pytest.mark.parametrize(("sequence", "expected"), [(-1, []), (0, []), (1, ["batch-header-wrong"])])
def test_a_batch_without_a_producer_has_no_number_or_the_coordinators_0(
    tmp_path: Path, sequence: int, expected: list[str]
) -> None:
    assert kinds(write_log(tmp_path, {0: [batch(records=[record()], base_sequence=sequence)]})) == expected


@pytest.mark.parametrize("epoch", [-2, -(2**31) + 1, -(2**31)])
def test_an_epoch_that_cannot_be_is_told_of_the_first_batch_too(tmp_path: Path, epoch: int) -> None:
    first = batch(records=[record()], leader_epoch=epoch)
    second = batch(records=[record()], base_offset=1, leader_epoch=1)
    told = findings(write_log(tmp_path, {0: [first, second]}))
    [found] = [each for each in told if each.kind == "batch-header-wrong"]
    assert found.offset == 0
    assert "a leader epoch that cannot be: the checksum does not cover the field" in found.message
