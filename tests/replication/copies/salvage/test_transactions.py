"""Transactions are salvaged whole or not at all, whatever the fork did to them."""

from pathlib import Path
from typing import Any

import pytest

from replication.salvage import ConflictRule, Reason
from tests.replication.copies.salvage.copies import ABORT, COMMIT, data, marker, salvage, values

COMMON = data(0, b"common")


def transaction(epoch: int, *contents: bytes, sequence: int = 0, key: bytes | None = None) -> tuple[int, bytes]:
    return data(epoch, *contents, producer=7, sequence=sequence, transactional=True, key=key)


BEGUN = transaction(0, b"begun")


def test_committed_ones_are_taken_aborted_ones_are_not_and_open_ones_are_listed(tmp_path: Path) -> None:
    losing = [
        COMMON,
        transaction(1, b"committed"),
        marker(1, COMMIT, 7),
        transaction(1, b"aborted", sequence=1),
        marker(1, ABORT, 7),
        transaction(1, b"open", sequence=2),
    ]
    records, report = salvage(tmp_path, [COMMON], losing)
    assert values(records) == [b"committed"]
    assert report.counts == {Reason.CONTROL: 2, Reason.ABORTED: 1, Reason.OPEN: 1}
    [doubt] = report.transactions
    assert (doubt.producer_id, doubt.first_offset, doubt.last_offset, doubt.records) == (7, 5, 5, 1)
    assert report.is_in_doubt


@pytest.mark.parametrize(
    ("kept_end", "salvaged", "reasons"),
    [
        (COMMIT, [b"beyond"], {}),
        (ABORT, [b"begun", b"beyond"], {}),
        (None, [], {Reason.UNDECIDED: 1}),
    ],
)
def test_one_across_the_fork_is_whole_in_the_end(
    kept_end: Any, salvaged: list[bytes], reasons: dict[Reason, int], tmp_path: Path
) -> None:
    losing = [BEGUN, transaction(1, b"beyond", sequence=1), marker(1, COMMIT, 7)]
    kept = [BEGUN, *([marker(2, kept_end, 7)] if kept_end is not None else [])]
    records, report = salvage(tmp_path, kept, losing)
    assert values(records) == salvaged
    assert report.counts == {Reason.CONTROL: 1, **reasons}
    assert [each.reason for each in report.transactions] == list(reasons)


def test_one_whose_end_alone_was_cut_off_is_listed_though_the_kept_copy_has_its_records(tmp_path: Path) -> None:
    records, report = salvage(tmp_path, [BEGUN], [BEGUN, marker(1, COMMIT, 7)])
    [doubt] = report.transactions
    assert (records, doubt.reason, doubt.records) == ([], Reason.UNDECIDED, 0)
    assert report.is_in_doubt


@pytest.mark.parametrize(("end", "salvaged"), [(COMMIT, [b"beyond"]), (ABORT, [])])
def test_the_kept_copy_decides_about_one_that_the_losing_one_left_open(
    end: Any, salvaged: list[bytes], tmp_path: Path
) -> None:
    records, _ = salvage(tmp_path, [BEGUN, marker(2, end, 7)], [BEGUN, transaction(1, b"beyond", sequence=1)])
    assert values(records) == salvaged


def test_a_marker_of_an_earlier_leader_decides_nothing_about_what_was_written_later(tmp_path: Path) -> None:
    records, report = salvage(tmp_path, [BEGUN, marker(1, COMMIT, 7)], [BEGUN, transaction(2, b"x", sequence=1)])
    assert (records, report.counts) == ([], {Reason.OPEN: 1})


def test_a_record_says_where_its_transaction_begins(tmp_path: Path) -> None:
    begun = [transaction(1, b"a"), data(1, b"plain"), transaction(1, b"b", sequence=1)]
    records, _ = salvage(tmp_path, [COMMON], [COMMON, *begun, marker(1, COMMIT, 7)])
    assert [(each.value, each.transaction) for each in records] == [(b"a", 1), (b"plain", -1), (b"b", 1)]


def test_what_was_sent_again_in_an_open_transaction_of_the_kept_copy_is_undecided(tmp_path: Path) -> None:
    losing = [COMMON, transaction(1, b"a"), marker(1, COMMIT, 7)]
    records, report = salvage(tmp_path, [COMMON, transaction(2, b"a")], losing)
    assert (records, report.counts) == ([], {Reason.CONTROL: 1, Reason.UNDECIDED: 1})


def test_one_of_which_only_a_part_was_sent_again_in_an_open_transaction_is_undecided_whole(tmp_path: Path) -> None:
    losing = [COMMON, transaction(1, b"a"), transaction(1, b"b", sequence=1), marker(1, COMMIT, 7)]
    records, report = salvage(tmp_path, [COMMON, transaction(2, b"a")], losing, conflicts=ConflictRule.BOTH)
    assert (records, report.counts) == ([], {Reason.CONTROL: 1, Reason.INCOMPLETE: 1, Reason.UNDECIDED: 1})


def test_one_that_two_copies_share_is_taken_from_the_one_that_has_its_end(tmp_path: Path) -> None:
    shared = transaction(1, b"shared")
    records, report = salvage(tmp_path, [COMMON], [COMMON, shared], [COMMON, shared, marker(1, COMMIT, 7)])
    assert [(record.value, record.source) for record in records] == [(b"shared", "broker-1")]
    assert report.counts == {Reason.CONTROL: 1}


def test_one_of_which_a_part_is_missing_is_left_out(tmp_path: Path) -> None:
    losing = [COMMON, transaction(1, b"first"), transaction(1, b"third", sequence=2), marker(1, COMMIT, 7)]
    records, report = salvage(tmp_path, [COMMON], losing)
    assert (records, report.counts[Reason.INCOMPLETE]) == ([], 2)
    records, _ = salvage(tmp_path / "compacted", [COMMON], losing, cleaned=1)
    assert values(records) == [b"first", b"third"], "compaction leaves such gaps"


def test_one_with_a_conflict_is_left_out_whole(tmp_path: Path) -> None:
    losing = [COMMON, transaction(1, b"a"), transaction(1, b"b", sequence=1, key=b"k"), marker(1, COMMIT, 7)]
    kept = [COMMON, data(2, b"other", key=b"k")]
    records, report = salvage(tmp_path, kept, losing)
    assert (records, report.counts) == ([], {Reason.CONTROL: 1, Reason.INCOMPLETE: 1, Reason.CONFLICT: 1})
    records, _ = salvage(tmp_path / "both", kept, losing, conflicts=ConflictRule.BOTH)
    assert values(records) == [b"a", b"b"]


@pytest.mark.parametrize(
    ("rule", "kept_time", "salvaged", "reasons"),
    [
        (ConflictRule.NEWEST, 500, [b"a", b"b"], {}),
        (ConflictRule.NEWEST, 1_000, [], {Reason.INCOMPLETE: 1, Reason.NOT_NEWER: 1}),
        (ConflictRule.LOSING, 1_000, [b"a", b"b"], {}),
    ],
)
def test_one_with_a_conflict_is_salvaged_whole_or_not_at_all_whatever_the_rule(
    rule: ConflictRule, kept_time: int, salvaged: list[bytes], reasons: dict[Reason, int], tmp_path: Path
) -> None:
    losing = [COMMON, transaction(1, b"a", key=b"k"), transaction(1, b"b", sequence=1), marker(1, COMMIT, 7)]
    kept = [COMMON, data(2, b"other", key=b"k", timestamp=kept_time)]
    records, report = salvage(tmp_path, kept, losing, conflicts=rule)
    assert (values(records), report.counts) == (salvaged, {Reason.CONTROL: 1, **reasons})
    assert report.conflicts[0].salvaged == bool(salvaged)
    assert report.is_in_doubt == (not salvaged)


def test_of_one_that_is_salvaged_the_values_that_a_later_one_replaces_are_too(tmp_path: Path) -> None:
    losing = [COMMON, transaction(1, b"a", b"b", key=b"k"), marker(1, COMMIT, 7), data(1, b"c", key=b"k")]
    kept = [COMMON, data(2, b"other", key=b"k")]
    records, report = salvage(tmp_path, kept, losing, conflicts=ConflictRule.LOSING)
    assert values(records) == [b"a", b"b", b"c"]
    assert (report.conflicts[0].records, report.conflicts[0].salvaged) == (3, 3)


def test_one_that_two_copies_share_is_left_out_of_both(tmp_path: Path) -> None:
    """Its first records are given by one copy, and the one with the conflict by the other."""
    shared = transaction(1, b"shared")
    losing = [COMMON, shared], [COMMON, shared, transaction(1, b"b", sequence=1, key=b"k"), marker(1, COMMIT, 7)]
    records, report = salvage(tmp_path, [COMMON, data(2, b"other", key=b"k")], *losing)
    assert (records, report.counts) == ([], {Reason.CONTROL: 1, Reason.INCOMPLETE: 1, Reason.CONFLICT: 1})


def test_what_the_kept_copy_has_in_an_aborted_transaction_is_lost_all_the_same(tmp_path: Path) -> None:
    kept = [COMMON, transaction(2, b"a"), marker(2, ABORT, 7)]
    records, _ = salvage(tmp_path, kept, [COMMON, transaction(1, b"a"), marker(1, COMMIT, 7)])
    assert values(records) == [b"a"]


def test_where_two_copies_judge_what_they_share_differently_the_one_that_committed_it_gives_it(tmp_path: Path) -> None:
    shared = transaction(1, b"shared")
    goes_on = [COMMON, shared, transaction(3, b"more", sequence=1)]
    records, report = salvage(tmp_path, [COMMON], goes_on, [COMMON, shared, marker(2, COMMIT, 7)])
    assert [(record.value, record.source) for record in records] == [(b"shared", "broker-2")]
    assert report.counts == {Reason.CONTROL: 1, Reason.OPEN: 1}
