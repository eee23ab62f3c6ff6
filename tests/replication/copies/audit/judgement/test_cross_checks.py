"""What copies say of each other, each told so that nothing else is."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epoch import EpochEntry
from logstore.topic_partition import TopicPartition
from replication.copies.audit.comparison.comparison import Comparison
from replication.copies.audit.copy_summary import CopySummary, LastMarker, OpenTransaction
from replication.copies.audit.judgement.findings.cross_checks import cross_findings, stray_replicas
from replication.copies.audit.snapshots.missing_copies import UNNAMED, Expectations, missing_copies, nowhere_findings
from replication.copies.audit.snapshots.registered import Registered
from tests.replication.copies.audit.summaries import T0, forked, summary

REPLICAS = ("a", "b", "c")


def found(
    summaries: Sequence[CopySummary], comparisons: Sequence[Comparison] = (), missing: Sequence[str] = ()
) -> list[tuple[str, str, int | None]]:
    findings = cross_findings(T0, summaries, comparisons, (), recommended=None, missing=missing)
    return [(each.replica, each.finding.kind, each.finding.offset) for each in findings]


def lineage(*entries: tuple[int, int]) -> tuple[EpochEntry, ...]:
    return tuple(EpochEntry(*entry) for entry in entries)


def with_lineages(*lineages: tuple[EpochEntry, ...]) -> list[CopySummary]:
    return [summary(replica, lineage=each) for replica, each in zip(REPLICAS, lineages, strict=False)]


def test_equal_copies_have_nothing_to_say() -> None:
    assert found([summary(replica) for replica in REPLICAS]) == []


# --- topic ids


@given(st.lists(st.sampled_from(["x", "y"]), min_size=2, max_size=5))
def test_the_minority_has_the_wrong_topic_id_or_nobody_knows(ids: list[str]) -> None:
    told = {replica for replica, _, _ in found([summary(str(n), topic_id=each) for n, each in enumerate(ids)])}
    fewer = {n for n, each in enumerate(ids) if 2 * ids.count(each) < len(ids)}
    expected = set() if len(set(ids)) == 1 else fewer or set(range(len(ids)))
    assert told == {str(n) for n in expected}


def test_a_copy_without_topic_id() -> None:
    without = summary("a", topic_id=None)
    assert found([without, summary("b")]) == [("a", "topic-id-missing", None)]
    assert found([without, summary("b", topic_id=None)]) == []  # brokers before Kafka 2.8
    assert found([summary("a", topic_id=None, errors=1), summary("b")]) == []  # a file that cannot be read is reported


def test_the_clusters_metadata_tells_whether_a_log_needs_one() -> None:
    without = [summary(each, topic_id=None, records=5) for each in "ab"]
    registered = Registered("AAAAAAAAQACAAAAAAAAAAA")
    assert found(without) == []
    told = cross_findings(T0, without, [], [], recommended=None, registered=registered)
    assert [(each.replica, each.finding.kind) for each in told] == [(each, "topic-id-missing") for each in "ab"]
    assert stray_replicas(without, registered) == {"a", "b"}
    assert stray_replicas(without, Registered(None)) == set()
    empty = [replace(each, records=0) for each in without]
    assert cross_findings(T0, empty, [], [], recommended=None, registered=registered) == ()


# --- epochs


def test_an_epoch_with_two_starts() -> None:
    right = lineage((0, 0), (1, 50))
    wrong = lineage((0, 0), (1, 40))
    assert found(with_lineages(right, wrong, right)) == [("b", "epochs-contradict", 40)]
    assert found(with_lineages(right, wrong)) == [("a", "epochs-contradict", 50), ("b", "epochs-contradict", 40)]


def test_the_first_epoch_starts_where_the_log_does() -> None:
    assert found(with_lineages(lineage((0, 0), (1, 50)), lineage((1, 60)))) == []
    assert found(with_lineages(lineage((0, 0)), lineage((0, 20)))) == []
    assert len(found(with_lineages(lineage((0, 0), (1, 50)), lineage((1, 40))))) == 2


def test_the_cleaner_may_have_removed_an_epochs_first_batches() -> None:
    copies = [
        summary("a", lineage=lineage((0, 0), (1, 50)), cleaned_to=60),
        summary("b", lineage=lineage((0, 0), (1, 55))),
    ]
    assert found(copies) == []
    assert len(found([summary("a", lineage=lineage((0, 0), (1, 50)), cleaned_to=50), copies[1]])) == 2


def test_whoever_shares_an_epoch_shares_what_stands_before() -> None:
    left, right = lineage((0, 0), (1, 50), (3, 80)), lineage((0, 0), (2, 50), (3, 80))
    copies = [
        summary(name, lineage=each, checkpointed_high_watermark=0)
        for name, each in (("a", left), ("b", right), ("c", left))
    ]
    comparisons = [forked("a", "b", 50), forked("b", "c", 50)]
    assert found(copies, comparisons) == [("b", "epochs-contradict", 80)]
    assert found([each for each in copies if each.replica != "b"]) == []


def test_a_fork_is_no_contradiction() -> None:
    copies = with_lineages(lineage((0, 0), (1, 50)), lineage((0, 0), (2, 50)))
    assert {kind for _, kind, _ in found(copies, [forked("a", "b", 50)])} == {"high-watermark-beyond-fork"}


def test_a_copy_whose_own_files_disagree_contradicts_nobody() -> None:
    copies = [summary("a", lineage=lineage((0, 0), (1, 50)), errors=1), summary("b", lineage=lineage((0, 0), (1, 40)))]
    assert found(copies) == []
    assert found(copies[::-1]) == []


# --- transactions


@given(st.integers(0, 99), st.integers(0, 150), st.integers(1, 150), st.none() | st.integers(0, 150))
def test_a_transaction_is_open_here_and_ended_there(first: int, marker: int, end: int, fork: int | None) -> None:
    copies = [
        summary(
            "a", open_transactions=(OpenTransaction(7, 0, first),), log_end_offset=end, checkpointed_high_watermark=0
        ),
        summary("b", last_markers=(LastMarker(6, first + 1), LastMarker(7, marker)), checkpointed_high_watermark=0),
    ]
    told = found(copies, [] if fork is None else [forked("a", "b", fork)])
    should_have_it = first < marker < end and (fork is None or marker < fork)
    assert told == ([("a", "transaction-marker-missing", marker)] if should_have_it else [])


def test_one_transaction_is_told_once() -> None:
    ended = [summary(replica, last_markers=(LastMarker(7, 50),)) for replica in ("b", "c")]
    copies = [summary("a", open_transactions=(OpenTransaction(7, 0, 40),)), *ended]
    assert found(copies) == [("a", "transaction-marker-missing", 50)]


# --- offsets


@given(st.none() | st.integers(0, 150), st.integers(0, 100))
def test_a_high_watermark_beyond_the_fork(high_watermark: int | None, fork: int) -> None:
    """It counts as the checkpoint file has it: also beyond the copy's end at 100."""
    copies = [
        summary("a", high_watermark=0, checkpointed_high_watermark=high_watermark),
        summary("b", checkpointed_high_watermark=0),
    ]
    told = found(copies, [forked("a", "b", fork)])
    expected = high_watermark is not None and high_watermark > fork
    assert told == ([("a", "high-watermark-beyond-fork", fork)] if expected else [])


@given(st.integers(0, 200))
def test_a_log_that_starts_beyond_anothers_end(start: int) -> None:
    copies = [summary("a", log_start_offset=start, log_end_offset=200), summary("b")]
    assert found(copies) == ([("a", "log-start-beyond-replica", start)] if start > 100 else [])


# --- copies that are missing


def test_a_missing_copy_is_named_or_not() -> None:
    there = [summary("a"), summary("b")]
    assert found(there, missing=["c"]) == [("c", "replica-missing", None)]
    assert found(there, missing=[UNNAMED]) == [(UNNAMED, "replica-missing", None)]


def partitions(*numbers: int) -> list[TopicPartition]:
    return [TopicPartition("t", number) for number in numbers]


def test_a_partition_with_fewer_copies_than_its_topics_others() -> None:
    held = {"a": partitions(0, 1, 2), "b": partitions(0, 1, 2), "c": partitions(0, 2)}
    assert missing_copies(held, Expectations()) == {TopicPartition("t", 1): ("c",)}


def test_several_replicas_may_be_meant() -> None:
    held = {"a": partitions(0, 1), "b": partitions(0, 2), "c": partitions(1, 2, 3)}
    assert missing_copies(held, Expectations()) == {TopicPartition("t", 3): (UNNAMED,)}


def test_a_checkpoint_file_tells_whose_copy_is_missing() -> None:
    held = {"a": partitions(0, 1), "b": partitions(0, 2), "c": partitions(1, 2, 3)}
    assert missing_copies(held, Expectations(listed={"b": partitions(0, 2, 3)})) == {TopicPartition("t", 3): ("b",)}
    one = {"a": partitions(0), "b": []}
    assert missing_copies(one, Expectations(listed={"b": partitions(0)})) == {TopicPartition("t", 0): ("b",)}


@pytest.mark.parametrize(
    ("held", "missing"),
    [
        ({"a": (0, 1), "b": (0, 1), "c": ()}, {0: ("c",), 1: ("c",)}),
        ({"a": (0,), "b": ()}, {0: ("b",)}),
        ({"a": (0, 1), "b": (0, 2), "c": ()}, {1: ("c",), 2: ("c",)}),
        ({"a": (0, 1), "b": (0, 1), "c": (), "d": ()}, {0: ("c", "d"), 1: ("c", "d")}),
        ({"a": (0, 1), "b": (0,), "c": (), "d": ()}, {1: (UNNAMED,)}),
        ({"a": (), "b": ()}, {}),
    ],
)
def test_who_holds_nothing_at_all_lacks_what_the_others_suggest(
    held: dict[str, tuple[int, ...]], missing: dict[int, tuple[str, ...]]
) -> None:
    found = missing_copies({replica: partitions(*numbers) for replica, numbers in held.items()}, Expectations())
    assert {partition.partition: replicas for partition, replicas in found.items()} == missing


def test_a_replication_factor_says_how_many_copies_there_should_be() -> None:
    held = {"a": partitions(0, 1), "b": partitions(0, 1), "c": []}
    assert missing_copies(held, Expectations(replication_factor=2)) == {}
    assert set(missing_copies(held, Expectations(replication_factor=3)).values()) == {("c",)}
    assert set(missing_copies(held, Expectations(replication_factor=4)).values()) == {(UNNAMED,)}
    assert missing_copies({"a": partitions(0), "b": [TopicPartition("u", 0)]}, Expectations(replication_factor=2)) == {
        TopicPartition("t", 0): ("b",),
        TopicPartition("u", 0): ("a",),
    }


def test_the_metadata_says_who_should_have_a_copy() -> None:
    held = {"a": partitions(0, 1), "b": partitions(0, 1), "c": [], "d": []}
    assigned = {TopicPartition("t", 0): ("a", "b"), TopicPartition("t", 1): ("b", "c"), TopicPartition("t", 2): ("d",)}
    for factor in (None, 1, 4):
        expected = Expectations(assigned, replication_factor=factor)
        assert missing_copies(held, expected) == {TopicPartition("t", 1): ("c",)}
        (nowhere,) = nowhere_findings(held, expected)
        assert (nowhere.replica, nowhere.finding.kind, nowhere.finding.partition) == ("d", "partition-nowhere", 2)


def test_whoever_is_left_is_meant_as_well() -> None:
    held = {"a": partitions(0, 1, 2), "b": partitions(0, 1), "c": partitions(0, 1)}
    assert missing_copies(held, Expectations(listed={"b": partitions(2)})) == {TopicPartition("t", 2): ("b", "c")}


def test_a_reassignment_that_adds_copies_makes_none_missing() -> None:
    held = {"a": partitions(0, 1, 2), "b": partitions(0, 1, 2), "c": partitions(0)}
    assert missing_copies(held, Expectations()) == {}


@given(st.dictionaries(st.sampled_from("abcd"), st.sets(st.sampled_from(partitions(*range(5))))))
def test_each_missing_copy_is_one_that_is_not_there(held: dict[str, set[TopicPartition]]) -> None:
    for partition, replicas in missing_copies(held, Expectations()).items():
        assert all(partition not in held.get(replica, ()) for replica in replicas)
        assert any(partition in some for some in held.values())
        assert len(set(replicas)) == len(replicas) > 0


def test_a_partition_that_nobody_has() -> None:
    listed = {"a": partitions(0, 1), "b": partitions(1)}
    findings = nowhere_findings({"a": partitions(0), "b": []}, Expectations(listed=listed))
    assert [(each.replica, each.finding.kind, each.finding.partition) for each in findings] == [
        ("a", "partition-nowhere", 1),
        ("b", "partition-nowhere", 1),
    ]
