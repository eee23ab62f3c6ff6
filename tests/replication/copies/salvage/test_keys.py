"""Keys that both sides of a fork wrote, and topics of which only a key's last value counts."""

from pathlib import Path
from typing import Any

import pytest

from replication.salvage import ConflictRule, Reason
from tests.replication.copies.salvage.copies import ABORT, data, marker, salvage, values

COMMON = data(0, b"common")
LOSING = [
    COMMON,
    data(1, b"old", key=b"k", timestamp=10),
    data(1, b"new", key=b"k", timestamp=20),
    data(1, b"alone", key=b"l"),
    data(1, b"keyless"),
]


@pytest.mark.parametrize(
    ("rule", "kept_time", "salvaged"),
    [
        (ConflictRule.LIST, 15, [b"alone", b"keyless"]),
        (ConflictRule.NEWEST, 15, [b"new", b"alone", b"keyless"]),
        (ConflictRule.NEWEST, 20, [b"alone", b"keyless"]),
        (ConflictRule.LOSING, 30, [b"new", b"alone", b"keyless"]),
        (ConflictRule.BOTH, 30, [b"old", b"new", b"alone", b"keyless"]),
    ],
)
def test_a_key_written_on_both_sides_is_a_conflict(
    rule: ConflictRule, kept_time: int, salvaged: list[bytes], tmp_path: Path
) -> None:
    kept = [COMMON, data(2, b"first", key=b"k"), data(2, b"theirs", key=b"k", timestamp=kept_time)]
    records, report = salvage(tmp_path, kept, LOSING, conflicts=rule)
    assert values(records) == salvaged
    [conflict] = report.conflicts
    assert conflict.key == b"k"
    assert conflict.losing == ("broker-1", 1, 2, 20, b"new", 3)
    assert conflict.other == ("broker-0", 2, 2, kept_time, b"theirs", 6)
    assert (conflict.records, conflict.salvaged) == (2, sum(each in {b"old", b"new"} for each in salvaged))


def test_a_key_that_was_written_before_the_fork_or_in_an_aborted_transaction_is_no_conflict(tmp_path: Path) -> None:
    before = data(0, b"before", key=b"k")
    kept = [before, data(2, b"x", key=b"k", producer=7, transactional=True), marker(2, ABORT, 7)]
    records, report = salvage(tmp_path, kept, [before, data(1, b"a", key=b"k")])
    assert (values(records), report.conflicts) == ([b"a"], [])


def test_two_losing_copies_can_be_in_conflict_with_each_other(tmp_path: Path) -> None:
    kept = [COMMON, data(3, b"x")]
    losing = [COMMON, data(1, b"a", key=b"k", timestamp=5)], [COMMON, data(2, b"b", key=b"k", timestamp=4)]
    records, report = salvage(tmp_path, kept, *losing)
    assert (records, len(report.conflicts)) == ([], 2)
    assert [(each.losing.value, each.other.value) for each in report.conflicts] == [(b"a", b"b"), (b"b", b"a")]
    for rule in (ConflictRule.NEWEST, ConflictRule.LOSING):
        records, _ = salvage(tmp_path / rule, kept, *losing, conflicts=rule)
        assert values(records) == [b"a"]


@pytest.mark.parametrize("known", [{"cleaned": 1}, {"compacted": frozenset({"t"})}])
def test_of_a_compacted_topic_only_the_last_value_of_a_key_counts(known: dict[str, Any], tmp_path: Path) -> None:
    records, report = salvage(tmp_path, [COMMON], LOSING, **known)
    assert values(records) == [b"new", b"alone", b"keyless"]
    assert (report.counts, report.is_compacted) == ({Reason.SUPERSEDED: 1}, True)


def test_a_tombstone_is_the_last_value_of_its_key(tmp_path: Path) -> None:
    records, _ = salvage(tmp_path, [COMMON], [*LOSING, data(1, None, key=b"k")], cleaned=1)
    assert values(records) == [b"alone", b"keyless", None]


def test_the_last_value_may_be_in_another_losing_copy_that_goes_on_from_there(tmp_path: Path) -> None:
    shared = data(1, b"old", key=b"k")
    losing = [COMMON, shared, data(2, b"x")], [COMMON, shared, data(3, b"new", key=b"k")]
    records, report = salvage(tmp_path, [COMMON], *losing, cleaned=1)
    assert (values(records), report.counts) == ([b"x", b"new"], {Reason.SUPERSEDED: 1})


def test_equal_key_and_value_are_the_same_record_by_choice_each_for_one(tmp_path: Path) -> None:
    losing = [COMMON, data(1, b"v", b"v", b"w", key=b"k")]
    kept = [COMMON, data(2, b"v", key=b"k")]
    records, report = salvage(tmp_path, kept, losing, by_key_and_value=True, conflicts=ConflictRule.BOTH)
    assert values(records) == [b"v", b"w"]
    assert report.counts == {Reason.SAME: 1}


def test_each_copy_has_its_own_fork(tmp_path: Path) -> None:
    written = data(2, b"theirs", key=b"k")
    early, late = [COMMON, data(1, b"a", key=b"k")], [COMMON, written, data(3, b"b", key=b"k")]
    records, report = salvage(tmp_path, [COMMON, written], early, late)
    assert values(records) == [], "of three values none follows another one"
    assert [(each.losing.source, each.other.source) for each in report.conflicts] == [
        ("broker-1", "broker-0"),
        ("broker-2", "broker-1"),
    ]
    records, report = salvage(tmp_path / "late", [COMMON, written], [COMMON, data(1, b"a")], late)
    assert (values(records), report.conflicts) == ([b"a", b"b"], []), "the later one knew of the kept copy's value"


def test_a_key_that_losing_copies_wrote_before_they_diverged_is_no_conflict_between_them(tmp_path: Path) -> None:
    shared = data(1, b"old", key=b"k")
    losing = [COMMON, shared, data(2, b"x")], [COMMON, shared, data(3, b"new", key=b"k")]
    records, report = salvage(tmp_path, [COMMON], *losing)
    assert (values(records), report.conflicts) == ([b"old", b"x", b"new"], [])


def test_of_values_in_conflict_only_the_first_bytes_are_remembered(tmp_path: Path) -> None:
    large = bytes(range(256)) * 1_000
    _, report = salvage(tmp_path, [COMMON, data(2, None, key=b"k")], [COMMON, data(1, large, key=b"k")])
    [conflict] = report.conflicts
    assert (conflict.losing.value, conflict.losing.value_size) == (large[:64], len(large))
    assert (conflict.other.value, conflict.other.value_size) == (None, None)


def test_of_a_key_in_conflict_in_a_compacted_topic_only_the_last_record_counts(tmp_path: Path) -> None:
    kept = [COMMON, data(2, b"theirs", key=b"k", timestamp=15)]
    records, report = salvage(tmp_path, kept, LOSING, cleaned=1)
    assert values(records) == [b"alone", b"keyless"]
    assert report.counts == {Reason.SUPERSEDED: 1, Reason.CONFLICT: 1}
    assert [(each.key, each.records, each.salvaged) for each in report.conflicts] == [(b"k", 1, 0)]


def test_of_two_losing_copies_with_equal_times_the_one_of_the_later_leader_wins(tmp_path: Path) -> None:
    losing = [COMMON, data(1, b"a", key=b"k")], [COMMON, data(2, b"b", key=b"k")]
    for rule in (ConflictRule.NEWEST, ConflictRule.LOSING):
        records, report = salvage(tmp_path / rule, [COMMON, data(3, b"x")], *losing, conflicts=rule)
        assert (values(records), report.counts) == ([b"b"], {Reason.NOT_NEWER: 1})
