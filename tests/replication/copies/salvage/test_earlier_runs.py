"""What an earlier run has written to the kept copy is not what that side's producers wrote."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from logstore import Header
from replication.copies.planning.failures import stop
from replication.copies.salvage.cluster.partition_writing import header_values
from replication.copies.salvage.held.provenance import HEADER
from replication.salvage import ConflictRule, PartitionReport, Reason, plan_salvage
from tests.replication.copies.salvage.copies import COMMIT, Part, data, marker, salvage, values, write_copy

COMMON = data(0, b"common")
TRACE = Header("trace", b"x")
LOSING = [
    COMMON,
    data(1, b"a", key=b"k1", timestamp=10, headers=(TRACE,)),
    data(1, b"b", key=b"k1", timestamp=20),
    data(1, b"c", key=b"k2", timestamp=30),
]
CLUSTER = "c"


@pytest.fixture
def said(tmp_path: Path) -> list[Header]:
    """The headers that salvage adds to the records of LOSING."""
    copies = [write_copy(tmp_path / f"said-{number}", each) for number, each in enumerate(([COMMON], LOSING))]
    [partition] = plan_salvage(copies, "said-0").salvages()
    [block] = partition.blocks(stop)
    return [Header(HEADER, value) for value in header_values(block, CLUSTER)]


def first_of_ours(said: Sequence[Header]) -> list[Part]:
    """The only one of our transactions that was committed: it has the first record, and then came kill -9."""
    ours = data(2, b"a", key=b"k1", timestamp=10, headers=(TRACE, said[0]), producer=9, transactional=True)
    return [ours, marker(2, COMMIT, 9)]


def decided(directory: Path, *theirs: Part, **options: Any) -> tuple[list[bytes | None], PartitionReport]:
    records, report = salvage(directory, [COMMON, data(2, b"theirs"), *theirs], LOSING, **options)
    return values(records), report


@pytest.mark.parametrize("rule", ConflictRule)
def test_after_a_kill_all_is_salvaged_that_was_before(rule: ConflictRule, tmp_path: Path, said: list[Header]) -> None:
    before, first = decided(tmp_path / "before", conflicts=rule)
    after, again = decided(tmp_path / "after", *first_of_ours(said), conflicts=rule)
    assert before == after == [b"a", b"b", b"c"]
    assert (first.conflicts, again.conflicts, again.counts) == ([], [], {})


def test_of_a_compacted_topic_the_last_value_is_salvaged_again(tmp_path: Path, said: list[Header]) -> None:
    found, report = decided(tmp_path / "again", *first_of_ours(said), cleaned=1)
    assert (found, report.counts) == ([b"b", b"c"], {Reason.SUPERSEDED: 1})


def test_headers_that_were_added_later_change_nothing(tmp_path: Path, said: list[Header]) -> None:
    elsewhere = Header(HEADER, b"c/t-0/99/99/-1/1")
    for number, headers in enumerate([(TRACE, said[0], elsewhere), (TRACE, said[0], TRACE, elsewhere)]):
        ours = data(2, b"a", key=b"k1", timestamp=10, headers=headers)
        assert decided(tmp_path / str(number), ours)[0] == [b"a", b"b", b"c"]


@pytest.mark.parametrize(
    "theirs",
    [
        data(2, b"new", key=b"k1", timestamp=10),
        data(2, b"a", key=b"k1", timestamp=10, headers=(TRACE, Header(HEADER, b"nonsense"))),
        data(2, b"a", key=b"k1", timestamp=10, headers=(TRACE, Header(HEADER, b"c/t-0/1/99/-1/1"))),
        data(2, b"a", key=b"k1", timestamp=10, headers=(TRACE, Header(HEADER, b"c/u-0/1/1/-1/1"))),
    ],
)
def test_what_is_not_from_a_losing_copy_is_a_write_of_the_kept_side(theirs: Part, tmp_path: Path) -> None:
    found, report = decided(tmp_path, theirs)
    assert (found, report.counts) == ([b"c"], {Reason.CONFLICT: 2})


def test_what_was_salvaged_from_a_copy_that_is_not_looked_at_is_a_write_beside_it(
    tmp_path: Path, said: list[Header]
) -> None:
    other = [COMMON, data(3, b"other", key=b"k1")]
    records, report = salvage(tmp_path / "other", [COMMON, *first_of_ours(said)], other)
    assert (records, [each.other.value for each in report.conflicts]) == ([], [b"a"])


def test_an_application_that_passes_headers_on_has_written_by_itself(tmp_path: Path, said: list[Header]) -> None:
    changed = data(2, b"changed", key=b"k1", timestamp=10, headers=(TRACE, said[0]))
    found, report = decided(tmp_path / "changed", *first_of_ours(said), changed)
    assert (found, report.counts) == ([b"c"], {Reason.CONFLICT: 2})
    assert {each.other.value for each in report.conflicts} == {b"changed"}


def test_a_write_of_the_kept_side_before_ours_stays_one(tmp_path: Path, said: list[Header]) -> None:
    theirs = data(2, b"z", key=b"k1", timestamp=15)
    found, report = decided(tmp_path / "kept", theirs, *first_of_ours(said), conflicts=ConflictRule.NEWEST)
    assert found == [b"b", b"c"]
    assert [each.other.value for each in report.conflicts] == [b"z"]


def test_records_of_another_cluster_are_those_of_the_kept_side(tmp_path: Path, said: list[Header]) -> None:
    parts = [COMMON, *first_of_ours(said)], LOSING
    roots = [write_copy(tmp_path / f"broker-{number}", each) for number, each in enumerate(parts)]
    for cluster, salvaged in (CLUSTER, 3), ("other", 1):
        for number, root in enumerate(roots):
            (root / "meta.properties").write_text(f"version=1\nnode.id={number}\ncluster.id={cluster}\n")
        assert len(list(plan_salvage(roots, "broker-0").records())) == salvaged


def test_ours_stands_for_the_record_that_it_is_and_for_no_equal_one(tmp_path: Path) -> None:
    ours = data(2, b"v", key=b"k", headers=(Header(HEADER, b"c/t-0/1/2/-1/1"),))
    losing = [COMMON, data(1, b"v", b"v", b"w", key=b"k")]
    rule: dict[str, Any] = {"by_key_and_value": True, "conflicts": ConflictRule.BOTH}
    records, report = salvage(tmp_path / "kept", [COMMON, ours], losing, **rule)
    assert ([each.offset for each in records], report.counts) == ([1, 2, 3], {})
    sent_again = data(2, b"v", key=b"k")
    records, report = salvage(tmp_path / "again", [COMMON, ours, sent_again], losing, **rule)
    assert ([each.offset for each in records], report.counts) == ([2, 3], {Reason.SAME: 1})
