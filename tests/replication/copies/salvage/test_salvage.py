"""What is salvaged, case by case; `test_random_histories.py` has the cases that nobody thought of."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from logstore import Codec, Header
from logstore.errors import LogStoreError
from replication.base.errors import DifferentClustersError, NothingChosenError, NothingInCommonError, SameBrokerError
from replication.salvage import Reason, SalvageOptions, UnknownBrokerError, plan_salvage
from tests.data.replicas import LABELS, cross, replicas
from tests.replication.copies.salvage.copies import data, salvage, values, write_copy

COMMON = data(0, b"common")


@pytest.mark.parametrize("label", LABELS)
def test_of_real_replicas_it_finds_what_each_choice_of_a_leader_loses(label: str) -> None:
    roots = sorted(replicas(label).iterdir())
    pairs = [(kept, other) for kept in roots for other in roots if kept != other]
    found = {}
    for kept, other in pairs:
        for report in plan_salvage([kept, other], kept.name).reports():
            offset = report.forks[0].offset if report.forks else None
            place = f"{report.topic}-{report.partition}", f"{kept.name}->{other.name}"
            assert (report.differences, report.damage, report.damage_below) == ([], [], [])
            found[place] = (report.salvaged, offset, report.counts)
    assert found == {
        (partition, pair): (lost := truth["records_lost"], truth["truncation_offset"] if lost else None, {})
        for partition, document in cross(label)["partitions"].items()
        for pair, truth in document["pairs"].items()
        if not partition.startswith("__")
    }


def test_a_copy_that_is_only_ahead_counts_too(tmp_path: Path) -> None:
    records, report = salvage(tmp_path, [COMMON], [COMMON, data(0, b"a", b"b")])
    assert values(records) == [b"a", b"b"]
    assert [(each.source, each.offset, each.kept_end, each.end) for each in report.forks] == [("broker-1", 1, 1, 3)]


def test_copies_that_agree_or_lag_have_nothing_to_give(tmp_path: Path) -> None:
    records, report = salvage(tmp_path, [COMMON, data(0, b"a")], [COMMON], [COMMON, data(0, b"a")])
    assert (records, report.forks, report.counts) == ([], [], {})


def test_what_two_losing_copies_share_is_taken_once_and_what_each_wrote_alone_too(tmp_path: Path) -> None:
    shared = data(1, b"shared")
    records, report = salvage(
        tmp_path,
        [COMMON, data(3, b"kept")],
        [COMMON, shared, data(2, b"later leader")],
        [COMMON, shared, data(1, b"earlier leader")],
    )
    assert values(records) == [b"shared", b"earlier leader", b"later leader"]
    assert report.by_source == {"broker-1": 2, "broker-2": 1}


def test_records_of_one_offset_and_epoch_that_differ_are_both_taken(tmp_path: Path) -> None:
    records, _ = salvage(tmp_path, [COMMON], [COMMON, data(1, b"a")], [COMMON, data(1, b"b")])
    assert values(records) == [b"a", b"b"]


def test_records_are_the_same_in_other_batches_too(tmp_path: Path) -> None:
    """As where one of the copies was compacted."""
    alone = [data(1, b"a", key=b"k"), data(1, b"b", key=b"l")]
    together = data(1, b"a", b"b", key=b"k")
    records, _ = salvage(tmp_path, [COMMON], [COMMON, *alone], [COMMON, together])
    assert sorted((record.key, record.value) for record in records) == [(b"k", b"a"), (b"k", b"b"), (b"l", b"b")]


def test_everything_of_a_record_is_kept(tmp_path: Path) -> None:
    headers = (Header("trace", b"\xff"), Header("none", None))
    batch = data(5, b"v", None, key=b"k", timestamp=77, headers=headers, producer=9, sequence=3, codec=Codec.ZSTD)
    [first, second], _ = salvage(tmp_path, [COMMON], [COMMON, batch])
    assert first == ("t", 0, 5, 1, 77, 0, b"k", b"v", headers, 9, 0, 3, "broker-1", -1)
    assert (second.offset, second.value, second.sequence) == (2, None, 4)


def test_a_batch_that_its_producer_sent_again_is_not_written_again(tmp_path: Path) -> None:
    lost, again = data(1, b"a", b"b", producer=7), data(2, b"a", b"b", producer=7)
    records, report = salvage(tmp_path, [COMMON, again], [COMMON, lost, data(1, b"c", producer=7, sequence=2)])
    assert values(records) == [b"c"]
    assert report.counts == {Reason.RESENT: 2}


def test_what_was_sent_again_to_another_losing_leader_is_taken_once(tmp_path: Path) -> None:
    losing = (
        [COMMON, data(1, b"a", producer=7)],
        [COMMON, data(2, b"a", producer=7), data(2, b"b", producer=7, sequence=1)],
    )
    records, report = salvage(tmp_path, [COMMON], *losing)
    assert [(record.value, record.source) for record in records] == [(b"a", "broker-1"), (b"b", "broker-2")]
    assert report.counts == {Reason.RESENT: 1}


def test_sequence_numbers_that_start_over_are_the_same_numbers(tmp_path: Path) -> None:
    batch = data(1, b"a", b"b", b"c", producer=7, sequence=2**31 - 2)
    again = data(2, b"b", b"c", producer=7, sequence=2**31 - 1)
    records, _ = salvage(tmp_path, [COMMON, again], [COMMON, batch])
    assert values(records) == [b"a"]


def test_a_batch_that_was_numbered_anew_under_a_new_epoch_is_the_same(tmp_path: Path) -> None:
    lost = [data(1, b"a", producer=7, sequence=4, timestamp=1), data(1, b"b", producer=7, sequence=5, timestamp=2)]
    again = data(2, b"b", producer=7, producer_epoch=1, timestamp=2)
    records, report = salvage(tmp_path, [COMMON, again], [COMMON, *lost])
    assert values(records) == [b"a"]
    assert report.counts == {Reason.RESENT: 1}


def test_one_that_was_numbered_anew_stands_for_the_same_batch_of_all_losing_copies(tmp_path: Path) -> None:
    again = data(3, b"a", producer=7, producer_epoch=1)
    losing = [COMMON, data(1, b"a", producer=7, sequence=4)], [COMMON, data(2, b"a", producer=7, sequence=4)]
    records, report = salvage(tmp_path, [COMMON, again], *losing)
    assert (records, report.counts) == ([], {Reason.RESENT: 2})


def test_a_batch_that_was_numbered_anew_may_be_in_the_common_part(tmp_path: Path) -> None:
    common = data(0, b"a", producer=7, timestamp=1)
    again = data(1, b"a", producer=7, producer_epoch=1, timestamp=1)
    records, report = salvage(tmp_path, [common], [common, again])
    assert (records, report.counts) == ([], {Reason.RESENT: 1})


@pytest.mark.parametrize("stop", ["crashed", "clean"])
def test_of_a_damaged_copy_what_is_sound_is_taken_and_what_is_not_read_is_said(stop: str, tmp_path: Path) -> None:
    parts = [COMMON, data(1, b"sound"), data(1, b"damaged"), data(1, b"behind it")]
    roots = [write_copy(tmp_path / "broker-0", [COMMON]), write_copy(tmp_path / "broker-1", parts)]
    log = roots[1] / "t-0" / f"{0:020d}.log"
    content = bytearray(log.read_bytes())
    content[content.index(b"damaged")] ^= 1
    log.write_bytes(content)
    if stop == "clean":
        for root in roots:
            (root / ".kafka_cleanshutdown").touch()
    records: list[Any] = []
    [report] = plan_salvage(roots, "broker-0").reports(records.append)
    assert values(records) == [b"sound"]
    [(source, offset, error)] = report.damage
    assert (source, offset) == ("broker-1", 2)
    assert isinstance(error, LogStoreError)
    assert report.is_in_doubt


def flip(root: Path, content: bytes) -> None:
    log = root / "t-0" / f"{0:020d}.log"
    data = bytearray(log.read_bytes())
    data[data.index(content)] ^= 1
    log.write_bytes(data)


def test_damage_below_the_fork_is_said_where_it_was_seen(tmp_path: Path) -> None:
    common = [data(0, b"below"), data(0, b"last")]
    roots = [
        write_copy(tmp_path / "broker-0", [*common, data(2, b"kept")]),
        write_copy(tmp_path / "broker-1", [*common, data(1, b"lost")]),
    ]
    flip(roots[1], b"below")
    for root in roots:
        (root / ".kafka_cleanshutdown").touch()
    records: list[Any] = []
    [report] = plan_salvage(roots, "broker-0").reports(records.append)
    assert values(records) == [b"lost"]
    assert [(source, getattr(error, "offset", None)) for source, error in report.damage_below] == [("broker-1", 0)]
    assert (report.damage, report.is_in_doubt) == ([], True)


def test_damage_of_a_copy_that_ends_for_it_before_the_kept_one_is_said(tmp_path: Path) -> None:
    roots = [
        write_copy(tmp_path / f"broker-{number}", [COMMON, data(0, b"a"), data(1 + number, b"b")]) for number in (0, 1)
    ]
    flip(roots[1], b"a")
    [report] = plan_salvage(roots, "broker-0").reports()
    assert [(source, offset) for source, offset, _ in report.damage] == [("broker-1", 1)]
    assert report.is_in_doubt


def test_copies_that_differ_below_the_fork_or_without_one_are_told_and_not_salvaged(tmp_path: Path) -> None:
    for case, (kept, lost) in {"fork": ([data(2, b"kept")], [data(1, b"lost")]), "none": ([], [])}.items():
        ours, theirs = [COMMON, data(0, b"a"), *kept], [COMMON, data(0, b"b"), *lost]
        records, report = salvage(tmp_path / case, ours, theirs)
        assert len(records) == len(lost)
        assert (report.differences, report.is_in_doubt) == ([("broker-1", 1)], True)


def test_copies_that_compaction_left_other_batches_of_do_not_differ(tmp_path: Path) -> None:
    alone = [COMMON, data(0, b"a", key=b"k"), data(0, b"b", key=b"k")]
    _, report = salvage(tmp_path, [COMMON, data(0, b"a", b"b", key=b"k")], alone)
    assert (report.differences, report.is_in_doubt) == ([], False)


SHARED = data(1, b"shared")


@pytest.mark.parametrize(
    ("losing", "salvaged"),
    [
        ([[COMMON, SHARED]], [b"common", b"shared"]),
        ([[COMMON, SHARED], [COMMON, SHARED]], [b"common", b"shared"]),
        (
            [[COMMON, SHARED, data(2, b"one")], [COMMON, SHARED, data(3, b"other")]],
            [b"common", b"shared", b"one", b"other"],
        ),
        ([[COMMON, data(1, b"open", producer=7, transactional=True)]], [b"common"]),
    ],
)
def test_a_partition_that_the_kept_copy_lacks_is_salvaged_whole_where_it_is_named(
    losing: list[list[Any]], salvaged: list[bytes], tmp_path: Path
) -> None:
    """It may never have been a replica: so nobody gets all of a partition by accident."""
    kept, roots = tmp_path / "kept", [tmp_path / f"broker-{number}" for number in range(len(losing))]
    for root in (kept, *roots):
        write_copy(root, [COMMON], topic="u")
    for root, parts in zip(roots, losing, strict=True):
        write_copy(root, parts)
    plan = plan_salvage([kept, *roots], "kept")
    assert ([each.topic for each in plan.partitions], [each.topic for each in plan.lacking]) == (["u"], ["t"])
    assert plan.holders(plan.lacking[0]) == [root.name for root in roots]
    records: list[Any] = []
    plan = plan_salvage([kept, *roots], "kept", topics=["t"])
    [report] = plan.reports(records.append)
    assert values(records) == salvaged
    assert (plan.lacking, report.kept_holds) == ((), False)
    assert list(plan.records()) == records


def test_of_one_that_the_kept_copy_lacks_what_begins_later_is_taken_from_there(tmp_path: Path) -> None:
    write_copy(tmp_path / "kept", [COMMON], topic="u")
    root = write_copy(tmp_path / "broker", [COMMON, data(1, b"a"), data(1, b"b")])
    write_copy(root, [COMMON], topic="u")
    (root / "log-start-offset-checkpoint").write_text("0\n1\nt 0 2\n")
    records: list[Any] = []
    [report] = plan_salvage([tmp_path / "kept", root], "kept", topics=["t"]).reports(records.append)
    assert (values(records), report.forks) == ([b"b"], [("broker", 2, 0, 3)])


def test_one_that_the_kept_copy_holds_and_cannot_be_opened_is_not_lacking(tmp_path: Path) -> None:
    roots = [write_copy(tmp_path / f"broker-{number}", [COMMON]) for number in (0, 1)]
    for root in roots:
        write_copy(root, [COMMON], topic="u")
    log = roots[0] / "t-0" / f"{0:020d}.log"
    log.unlink()
    log.symlink_to(tmp_path / "elsewhere")
    failed: list[Any] = []
    plan = plan_salvage(roots, "broker-0", on_error=lambda *what: failed.append(what))
    assert (len(failed), plan.lacking) == (1, [])
    assert [each.topic for each in plan.partitions] == ["u"]


def test_topics_that_no_copy_has_are_refused(tmp_path: Path) -> None:
    roots = [write_copy(tmp_path / f"broker-{number}", [COMMON]) for number in (0, 1)]
    with pytest.raises(NothingChosenError, match=r"of the topics nope; .* the topics t$"):
        plan_salvage(roots, "broker-0", topics=["t", "nope"])
    write_copy(roots[0], [COMMON], topic="alone")
    with pytest.raises(NothingChosenError, match=r"of the topics alone; .* the topics t$"):
        plan_salvage(roots, "broker-0", topics=["alone"])
    with pytest.raises(NothingChosenError, match=r"of the topics keyz; .* the topics alone, t$"):
        plan_salvage(roots, "broker-0", SalvageOptions(compacted=frozenset({"keyz"})))


def test_kafkas_own_topics_are_left_alone_unless_they_are_named(tmp_path: Path) -> None:
    for number, each in enumerate(([COMMON], [COMMON, data(0, b"a")])):
        root = write_copy(tmp_path / f"broker-{number}", each)
        write_copy(root, each, topic="__consumer_offsets")
    roots = [tmp_path / "broker-0", tmp_path / "broker-1"]
    assert [each.topic for each in plan_salvage(roots, "broker-0").partitions] == ["t"]
    named = plan_salvage(roots, "broker-0", topics=["__consumer_offsets"])
    assert [each.topic for each in named.partitions] == ["__consumer_offsets"]
    with pytest.raises(NothingChosenError):
        plan_salvage(roots, "broker-0", topics=["u"])


def test_a_partition_that_cannot_be_read_is_left_out_and_the_others_are_not(tmp_path: Path) -> None:
    for number, each in enumerate(([COMMON], [COMMON, data(0, b"a")])):
        root = write_copy(tmp_path / f"broker-{number}", each)
        write_copy(root, each, topic="u")
    (tmp_path / "broker-1/t-0/leader-epoch-checkpoint").write_text("no checkpoint")
    failed: list[Any] = []
    records: list[Any] = []
    plan = plan_salvage([tmp_path / "broker-0", tmp_path / "broker-1"], "broker-0")
    assert [each.topic for each in plan.reports(records.append, on_error=lambda *what: failed.append(what))] == ["u"]
    assert [str(partition) for partition, _ in failed] == ["t-0"]
    assert [record.topic for record in records] == ["u"]


def brokers(directory: Path, *properties: str) -> list[Path]:
    roots = [write_copy(directory / f"broker-{number}", [COMMON]) for number in range(len(properties))]
    for root, each in zip(roots, properties, strict=True):
        (root / "meta.properties").write_text(f"version=1\n{each}\n")
    return roots


def test_the_kept_copy_is_named_as_it_is_printed_or_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots = brokers(tmp_path, "node.id=1\ncluster.id=one", "node.id=2\ncluster.id=one")
    monkeypatch.chdir(tmp_path)
    for name in ("broker-1", "2", "broker 2", "broker-1 (broker 2)", "./broker-1/", str(roots[1]), f"{roots[1]}/"):
        assert plan_salvage(roots, name).kept == "broker-1"
    odd = write_copy(tmp_path / "odd\x07name", [COMMON])
    assert plan_salvage([odd, roots[0]], "odd\\x07name").kept == "odd\x07name"
    elsewhere = [write_copy(tmp_path / place / "data", [COMMON]) for place in ("a", "b")]
    assert plan_salvage(elsewhere, str(elsewhere[1])).kept == "b/data"


def test_what_is_no_set_of_copies_is_refused(tmp_path: Path) -> None:
    roots = brokers(tmp_path, "node.id=1\ncluster.id=one", "node.id=2\ncluster.id=one")
    assert plan_salvage(roots, "2").kept == "broker-1"
    with pytest.raises(UnknownBrokerError, match=r"broker-0 \(broker 1\), broker-1 \(broker 2\)"):
        plan_salvage(roots, "3")
    with pytest.raises(NothingInCommonError):
        plan_salvage(roots[:1], "1")
    clusters = ["node.id=1\ncluster.id=one", "node.id=2\ncluster.id=two"]
    with pytest.raises(DifferentClustersError):
        plan_salvage(brokers(tmp_path / "clusters", *clusters), "1")
    twice = [f"node.id={number}\ncluster.id=one" for number in (1, 1, 2)]
    with pytest.raises(SameBrokerError):
        plan_salvage(brokers(tmp_path / "same", *twice), "2")
    disks = brokers(tmp_path / "disks", *twice)
    (disks[0] / "t-0").rename(disks[0] / "u-0")
    assert [each.name for each in plan_salvage(disks, "2").replicas] == ["broker-0", "broker-2"]


def test_the_order_is_that_in_which_leaders_wrote(tmp_path: Path) -> None:
    one = [COMMON, *(data(epoch, b"%d" % epoch) for epoch in (1, 3, 5))]
    other = [COMMON, *(data(epoch, b"%d" % epoch) for epoch in (2, 4, 6))]
    records, _ = salvage(tmp_path, [COMMON], one, other)
    assert all(before.leader_epoch < after.leader_epoch for before, after in pairwise(records))
    assert len(records) == 6
