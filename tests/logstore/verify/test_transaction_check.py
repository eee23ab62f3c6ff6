"""Which transaction indexes contradict the log."""

from pathlib import Path

import pytest

from epoch.checkpoint import format_checkpoint
from logstore.indexes.transaction_index import AbortedTransaction
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.offline.tail_rereader import TailRereader
from logstore.verify import Finding, verify_root
from logstore.verify.log_pass import LogPass
from tests.logstore.batches import CONTROL, TRANSACTIONAL, batch, record
from tests.logstore.verify.logs import COMMIT, COMPACTED, findings, kinds, marker, thinned, transactional, write_log

LOG = [
    transactional(7, 0, 5),
    transactional(8, 5, 5),
    marker(7, 10),
    marker(8, 11, COMMIT),
    transactional(8, 12),
    marker(8, 13),
]
ABORTED = [AbortedTransaction(7, 0, 10, 5), AbortedTransaction(8, 12, 13, 14)]


def write(root: Path, aborted: list[AbortedTransaction], log: list[bytes] = LOG, *, base: int = 0) -> Path:
    directory = write_log(root, {base: log})
    write_index(directory, aborted, base=base)
    return directory


def write_index(directory: Path, aborted: list[AbortedTransaction], *, base: int = 0) -> None:
    (directory / f"{base:020d}.txnindex").write_bytes(b"".join(entry.encode() for entry in aborted))


def summary(found: list[Finding]) -> list[tuple[str, int | None, int | None]]:
    return [(each.kind, each.position, each.offset) for each in found]


def test_an_index_that_agrees_has_no_findings(tmp_path: Path) -> None:
    assert findings(write(tmp_path, ABORTED)) == []


def test_a_transaction_that_the_index_lacks(tmp_path: Path) -> None:
    assert summary(findings(write(tmp_path, ABORTED[1:]))) == [("aborted-transaction-missing", None, 0)]


def test_no_index_at_all(tmp_path: Path) -> None:
    assert kinds(write_log(tmp_path, {0: LOG})) == ["aborted-transaction-missing"] * 2


def test_a_transaction_that_only_the_index_knows(tmp_path: Path) -> None:
    index = [*ABORTED, AbortedTransaction(9, 3, 4, 5)]
    assert summary(findings(write(tmp_path, index))) == [("aborted-transaction-unknown", 68, 3)]


@pytest.mark.parametrize("field", ["producer_id", "first_offset", "last_stable_offset"])
@pytest.mark.parametrize("change", [-1, 1])
def test_every_field_is_compared(tmp_path: Path, field: str, change: int) -> None:
    first, second = ABORTED
    altered = second._replace(**{field: getattr(second, field) + change})
    assert summary(findings(write(tmp_path, [first, altered]))) == [("aborted-transaction-differs", 34, 12)]


def test_the_last_stable_offset_is_the_first_of_those_still_open(tmp_path: Path) -> None:
    log = [transactional(1, 0), transactional(2, 1), transactional(3, 2), marker(3, 3), marker(1, 4), marker(2, 5)]
    index = [AbortedTransaction(3, 2, 3, 0), AbortedTransaction(1, 0, 4, 1), AbortedTransaction(2, 1, 5, 6)]
    assert findings(write(tmp_path, index, log)) == []


@pytest.mark.parametrize(("log_start", "severity"), [(0, "error"), (4, "error"), (5, "info")])
def test_a_transaction_whose_records_are_deleted_may_be_forgotten(
    tmp_path: Path, log_start: int, severity: str
) -> None:
    (tmp_path / "log-start-offset-checkpoint").write_bytes(format_checkpoint([("t", 0, log_start)]))
    write(tmp_path, ABORTED[1:])
    told = [each for each in verify_root(OfflineLogDirectory.open(tmp_path)) if "transaction" in each.kind]
    assert [(each.kind, each.severity) for each in told] == [("aborted-transaction-missing", severity)]


@pytest.mark.parametrize("first", [5, 12])
def test_a_transaction_may_be_known_from_the_log_start_only(tmp_path: Path, first: int) -> None:
    (tmp_path / "log-start-offset-checkpoint").write_bytes(format_checkpoint([("t", 0, 3)]))
    log = [transactional(7, 0, 5), transactional(7, 5, 5), transactional(8, 10), marker(8, 11), marker(7, 12)]
    write(tmp_path, [AbortedTransaction(8, 10, 11, first), AbortedTransaction(7, 5, 12, 13)], log)
    assert [each.kind for each in verify_root(OfflineLogDirectory.open(tmp_path)) if "transaction" in each.kind] == []


class TestFollower:
    """A follower appends what it fetched at once, and takes over all that begins in it before anything ends."""

    LOG = (transactional(1, 0), marker(1, 1), transactional(1, 2), transactional(2, 3), transactional(3, 4))

    @pytest.mark.parametrize("stable", [2, 3])
    def test_the_next_transaction_of_another_producer_may_bound_the_last_stable_offset(
        self, tmp_path: Path, stable: int
    ) -> None:
        assert kinds(write(tmp_path, [AbortedTransaction(1, 0, 1, stable)], list(self.LOG))) == []

    @pytest.mark.parametrize("stable", [1, 4, 5])
    def test_nothing_else_may(self, tmp_path: Path, stable: int) -> None:
        directory = write(tmp_path, [AbortedTransaction(1, 0, 1, stable)], list(self.LOG))
        assert kinds(directory) == ["aborted-transaction-differs"]


def test_an_abort_that_a_broker_appends_meanwhile_is_known_to_the_log_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = AbortedTransaction(8, 14, 15, 16)
    directory = write(tmp_path, [*ABORTED, later])
    assert kinds(directory) == ["aborted-transaction-unknown"]
    log = directory / f"{0:020d}.log"
    monkeypatch.setattr(TailRereader, "has_changed", lambda _self: False)
    scan = LogPass._read

    def then_the_broker_appends(*arguments: object) -> object:
        position = yield from scan(*arguments)  # type: ignore[arg-type]
        log.write_bytes(b"".join([*LOG, transactional(8, 14), marker(8, 15)]))
        return position

    monkeypatch.setattr(LogPass, "_read", then_the_broker_appends)
    assert kinds(directory) == []


def test_an_index_that_cannot_be_read(tmp_path: Path) -> None:
    directory = write(tmp_path, ABORTED)
    (directory / f"{0:020d}.txnindex").write_bytes(b"\xff" * 34)
    assert kinds(directory) == ["transaction-index-unreadable"]


def test_a_marker_that_cannot_be_read_ends_the_comparison(tmp_path: Path) -> None:
    void = batch(
        records=[record(key=b"\0", value=bytes(6))],
        base_offset=14,
        attributes=TRANSACTIONAL | CONTROL,
        producer_id=7,
        producer_epoch=0,
    )
    assert kinds(write(tmp_path, [], [*LOG, void])) == ["control-record-unreadable"]


def test_after_damage_nothing_is_compared(tmp_path: Path) -> None:
    damaged = batch(records=[record()], base_offset=14, crc=0)
    assert kinds(write(tmp_path, [], [*LOG, damaged])) == ["corrupt-batch"]


class TestRetention:
    """The first segments were deleted, and with them where some transactions began."""

    LOG = (transactional(7, 20), transactional(8, 21), marker(8, 22), marker(7, 23), transactional(8, 24))

    def test_transactions_that_cross_the_beginning_are_sound(self, tmp_path: Path) -> None:
        # Producer 7 began at 15, so that 8's abort left the log undecided from there on.
        index = [AbortedTransaction(8, 21, 22, 15), AbortedTransaction(7, 15, 23, 24)]
        assert findings(write(tmp_path, index, list(self.LOG), base=20)) == []

    def test_transactions_of_which_only_the_marker_is_left_are_sound(self, tmp_path: Path) -> None:
        assert findings(write(tmp_path, [AbortedTransaction(9, 3, 20, 21)], [marker(9, 20)], base=20)) == []

    def test_offsets_that_the_log_has_must_be_right(self, tmp_path: Path) -> None:
        index = [AbortedTransaction(8, 20, 22, 20), AbortedTransaction(7, 20, 23, 23)]
        assert kinds(write(tmp_path, index, list(self.LOG), base=20)) == ["aborted-transaction-differs"] * 2

    def test_the_producer_must_be_right(self, tmp_path: Path) -> None:
        index = [AbortedTransaction(9, 15, 22, 15), AbortedTransaction(7, 15, 23, 24)]
        assert kinds(write(tmp_path, index, list(self.LOG), base=20)) == ["aborted-transaction-differs"]


class TestCompaction:
    """The cleaner removes the batches of transactions, and sometimes their markers."""

    def test_nothing_is_compared_where_the_topic_is_compacted(self, tmp_path: Path) -> None:
        assert kinds(write_log(tmp_path, {0: LOG}, name=COMPACTED)) == []

    def test_nothing_is_compared_where_a_later_segment_shows_the_cleaner(self, tmp_path: Path) -> None:
        assert kinds(write_log(tmp_path, {0: LOG, 14: [thinned(14)]})) == []
