"""What the copies of a partition say of its offsets: of real replicas, and where only some of them know."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from epoch.checkpoint import format_checkpoint
from logstore.errors import LogStoreError
from logstore.topic_partition import TopicPartition
from replication.explain import NoSuchPartitionError, OffsetsFileError, UnknownLeaderError, Why, explain, read_offsets
from tests.data.replicas import replicas
from tests.replication.cli.command import epochlog
from tests.replication.copies.salvage.copies import ABORT, COMMIT, data, marker, write_copy

DIVERGED = [replicas("diverged") / f"broker-{number}" for number in (1, 2, 3)]
ORDERS = TopicPartition("t", 0)


def found(*copies: Path, **options: object) -> list[tuple[int, int, Why]]:
    explanation = explain("t-0", copies, **options)  # type: ignore[arg-type]
    return [(each.first_offset, each.last_offset, each.why) for each in explanation.ranges]


@pytest.mark.parametrize(
    ("partition", "counts"),
    [
        ("diverge-0", {Why.DELIVERED: 377, Why.TRUNCATED: 43}),
        ("hwloss-0", {Why.DELIVERED: 305, Why.TRUNCATED: 115}),
        ("txns-0", {Why.DELIVERED: 680, Why.CONTROL: 6, Why.ABORTED: 400, Why.EXPIRED: 200}),
        ("compacted-0", {Why.DELIVERED: 1000, Why.COMPACTED: 1000}),
        ("orders-1", {Why.EXPIRED: 11600}),
    ],
)
def test_nothing_is_missing_in_real_replicas(partition: str, counts: dict[Why, int]) -> None:
    explanation = explain(partition, DIVERGED)
    assert explanation.counts == counts


def test_ranges_are_told_apart_by_their_leader_epochs() -> None:
    delivered = explain("diverge-0", DIVERGED).of(Why.DELIVERED)
    told = [(each.first_offset, each.last_offset, each.leader_epoch) for each in delivered]
    assert told == [(0, 299, 3), (300, 376, 5)]


def test_what_was_truncated_is_told_with_the_epochs_and_the_copy_that_has_it() -> None:
    [cut] = explain("diverge-0", DIVERGED).of(Why.TRUNCATED)
    assert (cut.first_offset, cut.last_offset, cut.leader_epoch, cut.copy) == (377, 419, 4, "broker-1")
    assert "written under leader epoch 4; the leader of epoch 5 did not have it; broker-1 has it" in cut.evidence
    [whole] = explain("diverge-0", DIVERGED).cut_off
    assert (whole.first_offset, whole.last_offset) == (300, 419), "where others stand by now, too"


def test_who_has_the_longest_log_is_told_where_another_copy_led_last() -> None:
    outcome = epochlog("explain", "orders-0", *DIVERGED, "--json")
    assert (outcome.document["copy"], outcome.document["latest_and_longest"]) == ("broker-3", "broker-1")
    told = "broker-3 led last, by its leader-epoch-checkpoint. By the records that copies have broker-1 has the latest"
    assert told in " ".join(epochlog("explain", "orders-0", *DIVERGED).out.split())
    assert "led last" not in epochlog("explain", "orders-0", *DIVERGED, "--replica", "broker-1").out
    assert "led last" not in epochlog("explain", "diverge-0", *DIVERGED).out


def test_who_has_the_longest_log_is_who_advise_says() -> None:
    for each in epochlog("advise", *DIVERGED, "--json").document["partitions"]:
        name = f"{each['topic']}-{each['partition']}"
        assert explain(name, DIVERGED).latest_and_longest == each["latest_and_longest"], name


def test_a_leader_that_wrote_nothing_truncates_too(tmp_path: Path) -> None:
    common = [data(0, b"a"), data(0, b"b")]
    elected = write_copy(tmp_path / "broker-1", common)
    (elected / "t-0" / "leader-epoch-checkpoint").write_bytes(format_checkpoint([(0, 0), (2, 2)]))
    losing = write_copy(tmp_path / "broker-2", [*common, data(1, b"c")])
    assert found(elected, losing) == [(0, 1, Why.DELIVERED), (2, 2, Why.TRUNCATED)]


def test_what_a_follower_has_of_the_leaders_own_epoch_is_missing_from_the_leader(tmp_path: Path) -> None:
    parts = [data(0, b"a"), data(0, b"b")]
    leader, follower = write_copy(tmp_path / "broker-1", parts[:1]), write_copy(tmp_path / "broker-2", parts)
    assert found(leader, follower, leader="broker-1") == [(0, 0, Why.DELIVERED), (1, 1, Why.MISSING)]
    assert found(leader, follower) == [(0, 1, Why.DELIVERED)], "else the longest leads"


def test_a_checkpoint_that_speaks_of_more_than_there_is_tells_of_a_loss(tmp_path: Path) -> None:
    copy = write_copy(tmp_path / "broker-1", [data(0, b"a")])
    (copy / "replication-offset-checkpoint").write_bytes(format_checkpoint([("t", 0, 3)]))
    [_, lost] = explain("t-0", [copy]).ranges
    assert (lost.first_offset, lost.last_offset, lost.why) == (1, 2, Why.MISSING)
    assert "replication-offset-checkpoint says that all below 3 was committed" in lost.evidence
    assert found(copy, end=5)[-1] == (3, 4, Why.NEVER_WRITTEN)


def test_so_does_the_name_of_a_producer_snapshot(tmp_path: Path) -> None:
    copy = write_copy(tmp_path / "broker-1", [data(0, b"a")])
    (copy / "t-0" / f"{3:020d}.snapshot").touch()
    [_, lost] = explain("t-0", [copy]).ranges
    assert (lost.first_offset, lost.last_offset, lost.why) == (1, 2, Why.MISSING)
    assert f"{3:020d}.snapshot says that its log reached 3" in lost.evidence


def test_torn_bytes_at_the_end_are_missing(tmp_path: Path) -> None:
    copy = write_copy(tmp_path / "broker-1", [data(0, b"a"), data(0, b"b"), data(0, b"c")])
    log = copy / "t-0" / f"{0:020d}.log"
    content = bytearray(log.read_bytes())
    content[len(content) // 3 + 65] ^= 0xFF  # within the second batch: recovery cuts it off, and the third
    log.write_bytes(content)
    [_, damaged, behind] = explain("t-0", [copy]).ranges
    assert (damaged.first_offset, damaged.last_offset, damaged.why) == (1, 1, Why.MISSING)
    assert "recovery cuts the log off before it: " in damaged.evidence
    assert f"at position {len(content) // 3}" in damaged.evidence
    assert (behind.first_offset, behind.last_offset, behind.why) == (2, 2, Why.MISSING)
    assert behind.evidence.startswith("sound itself, but recovery cuts the log off at 1, for the damage there")
    assert behind.evidence.endswith(f"broker-1 has it: {log.name} at byte {len(content) // 3 * 2}")


def test_damage_of_the_leaders_copy_is_told_beside_what_other_copies_have(tmp_path: Path) -> None:
    leader = tmp_path / "broker-2"
    shutil.copytree(DIVERGED[1], leader)
    log = leader / "diverge-0" / f"{0:020d}.log"
    content = bytearray(log.read_bytes())
    content[32_444 + 80] ^= 0xFF  # in the batch of offsets 185 to 276
    log.write_bytes(content)
    explanation = explain("diverge-0", [DIVERGED[0], leader])
    assert [(each.first_offset, each.last_offset, each.why, each.leader_epoch) for each in explanation.ranges] == [
        (0, 184, Why.DELIVERED, 3),
        (185, 276, Why.MISSING, 3),
        (277, 299, Why.MISSING, 3),
        (300, 376, Why.MISSING, 5),
        (377, 419, Why.TRUNCATED, 4),
    ]
    damaged, theirs, ours = explanation.of(Why.MISSING)
    assert "recovery cuts the log off before it: " in damaged.evidence
    assert "at position 32,444, offset 185" in damaged.evidence
    assert damaged.evidence.endswith("broker-1 has it: 00000000000000000000.log at byte 32,444")
    assert theirs.evidence.endswith("broker-1 has it: 00000000000000000000.log at byte 48,633")
    assert ours.evidence.endswith("broker-2 has it: 00000000000000000000.log at byte 52,719")
    assert not any("no copy has it" in each.evidence for each in explanation.ranges)
    outcome = epochlog("explain", "diverge-0", DIVERGED[0], leader, "--json")
    assert outcome.status == 1
    assert outcome.document["damage"] == explanation.damage
    assert "diverge-0: broker-2 is damaged: " in outcome.err


def test_an_open_transaction_holds_back_what_follows_it(tmp_path: Path) -> None:
    copy = write_copy(
        tmp_path / "broker-1",
        [
            data(0, b"a", producer=7, transactional=True),
            data(0, b"b", producer=8, transactional=True),
            marker(0, COMMIT, 8),
            data(0, b"c"),
        ],
    )
    held = [(0, 1, Why.OPEN), (2, 2, Why.CONTROL), (3, 3, Why.OPEN)]
    assert found(copy) == held
    read = [(0, 1, Why.DELIVERED), (2, 2, Why.CONTROL), (3, 3, Why.DELIVERED)]
    assert found(copy, committed_only=False) == read


def test_what_was_aborted_names_its_marker(tmp_path: Path) -> None:
    copy = write_copy(
        tmp_path / "b", [data(0, b"a", producer=7, transactional=True), data(0, b"b"), marker(0, ABORT, 7)]
    )
    [aborted] = explain("t-0", [copy]).of(Why.ABORTED)
    assert aborted.evidence == "its transaction is aborted by the marker at offset 2"


def test_gaps_count_as_compacted_where_somebody_says_so(tmp_path: Path) -> None:
    copy = write_copy(tmp_path / "broker-1", [data(0, b"a"), data(0, b"b"), data(0, b"c")])
    log = copy / "t-0" / f"{0:020d}.log"
    content = log.read_bytes()
    third = len(content) // 3
    log.write_bytes(content[:third])
    (copy / "t-0" / f"{2:020d}.log").write_bytes(content[2 * third :])
    assert found(copy) == [(0, 0, Why.DELIVERED), (1, 1, Why.MISSING), (2, 2, Why.DELIVERED)]
    assert found(copy, is_compacted=True)[1] == (1, 1, Why.COMPACTED)


def test_names_that_are_not_there_are_refused(tmp_path: Path) -> None:
    copy = write_copy(tmp_path / "broker-1", [data(0, b"a")])
    with pytest.raises(
        NoSuchPartitionError, match="other-0 can be read in none of these copies: broker-1; they hold t-0"
    ):
        explain("other-0", [copy])
    with pytest.raises(UnknownLeaderError, match="9 has no copy of t-0; choose one of these: broker-1"):
        explain("t-0", [copy], leader="9")


def test_offsets_that_somebody_has_are_taken_away(tmp_path: Path) -> None:
    got = tmp_path / "got.txt"
    got.write_text("\n".join(map(str, [*range(151), *range(160, 377), 500])))
    outcome = epochlog("explain", "diverge-0", *DIVERGED, "--got", got, "--json")
    document = outcome.document
    assert outcome.status == 1
    assert document["counts"] == {"delivered": 9, "truncated": 43, "never-written": 80}
    [unexpected] = document["unexpected"]
    assert (unexpected["first_offset"], unexpected["why"]) == (500, "never-written")


def test_whoever_has_all_that_is_delivered_lacks_nothing(tmp_path: Path) -> None:
    got = tmp_path / "got.jsonl"
    got.write_text("\n".join(f'{{"topic": "diverge", "partition": 0, "offset": {offset}}}' for offset in range(377)))
    outcome = epochlog("explain", "diverge-0", *DIVERGED, "--got", got)
    assert outcome.status == 0
    assert "lacks 43 offsets" in outcome.out


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("1\nx\n", 'no list of offsets: line 2 has "x": expected whole numbers from 0'),
        ("offset\n1\n", 'line 1 has "offset"'),
        ("\ufeff0\n1\n", r'line 1 has "\\ufeff0".*without a byte order mark'),
        ("7 8\n9 \u0661\n", r'line 2 has "\\u0661"'),
        ("-1", "-1 is no offset"),
        (str(2**70), f'no list of offsets: line 1 has "{2**70}"'),
    ],
)
def test_files_of_offsets_that_cannot_be_read_are_refused(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "got.txt"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(OffsetsFileError, match=problem):
        read_offsets(path, ORDERS)


def test_offsets_are_read_from_each_kind_of_file(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = {"topic": ["t", "t", "u", "t"], "partition": [0, 0, 0, 1], "offset": [7, 3, 4, 5]}
    pq.write_table(pa.table(rows), tmp_path / "got.parquet")
    lines = tmp_path / "got.jsonl"
    lines.write_text('{"topic": "t", "partition": 0, "offset": 7}\n{"offset": 3}\n\n{"topic": "u", "offset": 4}\n3\n')
    text = tmp_path / "got"
    text.write_text("7 3\n3\n")
    for path in (tmp_path / "got.parquet", lines, text):
        assert read_offsets(path, ORDERS).tolist() == [3, 7]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"partition": 0}', "no offset"),
        (b"[" * 100_000, "is no JSON"),
        (b'{"topic": "\xff", "offset": 2}', "is no JSON"),
        (b'{"offset": "2"}', 'offset "2": expected a whole number from 0'),
        (b'{"offset": true}', "offset true"),
        (b'{"offset": null}', "offset null"),
        (b'{"offset": -1}', "offset -1"),
        (b'{"offset": 99999999999999999999}', "offset 99999999999999999999: expected a whole number from 0 to 922"),
        (b"99999999999999999999", "offset 99999999999999999999"),
        (b'{"partition": "0", "offset": 2}', 'partition "0": expected a whole number from 0 to 2147483647'),
        (b'{"partition": null, "offset": 2}', "partition null"),
        (b'{"partition": -1, "offset": 2}', "partition -1"),
        (b'{"topic": null, "offset": 2}', "topic null: expected a text"),
    ],
)
def test_a_line_that_is_no_offset_of_a_partition_is_named(tmp_path: Path, line: bytes, problem: str) -> None:
    path = tmp_path / "got.jsonl"
    path.write_bytes(b'{"offset": 1}\n' + line + b"\n")
    with pytest.raises(OffsetsFileError, match=f"line 2 (has )?{problem}"):
        read_offsets(path, ORDERS)


@pytest.mark.parametrize(
    ("column", "values", "problem"),
    [
        ("offset", [1.0], "`offset` is double: expected integers"),
        ("offset", ["1"], "`offset` is string: expected integers"),
        ("offset", [1, None], "`offset` has 1 null: "),
        ("offset", [-1], "`offset` has -1"),
        ("partition", ["0"], "`partition` is string: expected integers"),
        ("partition", [0, None], "`partition` has 1 null: "),
        ("partition", [-1], "`partition` has -1"),
        ("topic", [7], "`topic` is int64: expected text"),
        ("topic", ["t", None], "`topic` has 1 null: "),
    ],
)
def test_a_column_of_parquet_that_says_something_else_is_named(
    tmp_path: Path, column: str, values: list[object], problem: str
) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows: dict[str, list[object]] = {"topic": ["t"], "partition": [0], "offset": [1]}
    columns = {name: some * len(values) for name, some in rows.items()} | {column: values}
    pq.write_table(pa.table(columns), tmp_path / "got.parquet")
    with pytest.raises(OffsetsFileError, match=problem):
        read_offsets(tmp_path / "got.parquet", ORDERS)


@pytest.mark.parametrize(
    ("whose", "named"),
    [
        ({"topic": "other", "partition": 0}, "other-0"),
        ({"topic": "t", "partition": 1}, "t-1"),
        ({"topic": "other"}, "other-0"),
        ({"partition": 1}, "t-1"),
    ],
)
def test_a_file_of_other_partitions_only_is_refused(tmp_path: Path, whose: dict[str, object], named: str) -> None:
    lines = tmp_path / "got.jsonl"
    lines.write_text(json.dumps({**whose, "offset": 3}) + "\n")
    problem = f"got.*: no row is of t-0; it has {named}: "
    with pytest.raises(OffsetsFileError, match=problem):
        read_offsets(lines, ORDERS)
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.Table.from_pylist([{**whose, "offset": offset} for offset in (3, 4)]), tmp_path / "got.parquet")
    with pytest.raises(OffsetsFileError, match=problem):
        read_offsets(tmp_path / "got.parquet", ORDERS)


def test_a_file_without_rows_is_of_a_sink_that_has_nothing(tmp_path: Path) -> None:
    lines = tmp_path / "got.jsonl"
    lines.write_text("\n")
    assert not len(read_offsets(lines, ORDERS))


def test_topics_of_parquet_may_be_a_dictionary_and_numbers_of_any_width(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    topics = pa.array(["t", "u", "t"]).dictionary_encode()
    columns = {"topic": topics, "partition": pa.array([0, 0, 1], pa.int8()), "offset": pa.array([7, 8, 9], pa.uint64())}
    pq.write_table(pa.table(columns), tmp_path / "got.parquet")
    assert read_offsets(tmp_path / "got.parquet", ORDERS).tolist() == [7]
    pq.write_table(pa.table(columns).slice(0, 0), tmp_path / "got.parquet")
    assert not len(read_offsets(tmp_path / "got.parquet", ORDERS))


def test_copies_of_one_broker_from_before_and_after_tell_what_it_truncated(tmp_path: Path) -> None:
    common = [data(0, b"a"), data(0, b"b")]
    before = write_copy(tmp_path / "before", [*common, data(1, b"c"), data(1, b"d")])
    after = write_copy(tmp_path / "after", [*common, data(2, b"e")])
    for copy in (before, after):
        (copy / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\n")
    assert found(before, after) == [(0, 1, Why.DELIVERED), (2, 2, Why.DELIVERED), (3, 3, Why.TRUNCATED)]


def test_what_a_mirror_kept_tells_which_leader_lacks_it(tmp_path: Path) -> None:
    mirror = write_copy(tmp_path / "mirror", [data(0, b"a"), data(3, b"b")])
    kept = tmp_path / "kept" / "t-0"
    kept.mkdir(parents=True)
    lost = write_copy(tmp_path / "lost", [data(0, b"a"), data(1, b"c"), data(1, b"d")]) / "t-0" / f"{0:020d}.log"
    content = lost.read_bytes()
    (kept / f"{1:020d}-epoch3-20261121T163614.123Z.log").write_bytes(content[len(content) // 3 :])
    explanation = explain("t-0", [mirror, tmp_path / "kept"])
    assert [(each.first_offset, each.why) for each in explanation.ranges] == [
        (0, Why.DELIVERED),
        (1, Why.DELIVERED),
        (2, Why.TRUNCATED),
    ]
    [cut] = explanation.of(Why.TRUNCATED)
    assert "written under leader epoch 1; the leader of epoch 3 did not have it; kept has it" in cut.evidence
    [whole] = explanation.cut_off
    assert (whole.first_offset, whole.last_offset) == (1, 2)


def test_the_tail_of_a_batch_that_a_truncation_cut_whole_is_truncated(tmp_path: Path) -> None:
    """A leader was elected within a batch: the batch went as a whole, and a gap is left before its own records."""
    leader = write_copy(tmp_path / "leader", [data(0, b"a"), data(0, b"b", b"c"), data(2, b"d")])
    log = leader / "t-0" / f"{0:020d}.log"
    content = log.read_bytes()
    first = int.from_bytes(content[8:12], "big") + 12
    second = int.from_bytes(content[first + 8 : first + 12], "big") + 12
    log.write_bytes(content[:first] + content[first + second :])
    (leader / "t-0" / "leader-epoch-checkpoint").write_bytes(format_checkpoint([(0, 0), (2, 3)]))
    kept = tmp_path / "kept" / "t-0"
    kept.mkdir(parents=True)
    name = f"{1:020d}-epoch2-20261121T163614.123Z.log"
    (kept / name).write_bytes(content[first : first + second])
    assert found(leader) == [(0, 0, Why.DELIVERED), (1, 2, Why.MISSING), (3, 3, Why.DELIVERED)]
    assert found(leader, tmp_path / "kept")[1] == (1, 2, Why.TRUNCATED)


def test_a_copy_that_cannot_be_read_is_left_out_and_the_status_is_2(tmp_path: Path) -> None:
    good, bad = (write_copy(tmp_path / name, [data(0, b"a")]) for name in ("good", "bad"))
    (bad / "t-0" / "leader-epoch-checkpoint").write_text("nonsense")
    outcome = epochlog("explain", "t-0", good, bad)
    assert outcome.status == 2
    assert "1 delivered" in outcome.out
    assert "t-0: " in outcome.err


@pytest.mark.parametrize("name", ["replication-offset-checkpoint", "meta.properties"])
@pytest.mark.parametrize("is_file", [True, False])
def test_a_file_beside_a_copy_that_cannot_be_read_is_told_and_the_status_is_2(
    tmp_path: Path, name: str, *, is_file: bool
) -> None:
    copy = write_copy(tmp_path / "broker-1", [data(0, b"a")])
    place = copy / name
    place.unlink(missing_ok=True)
    if is_file:
        place.write_bytes(b"version=7\n\x00garbage")
    else:
        place.mkdir()
    for named in (copy, copy / "t-0"):
        outcome = epochlog("explain", "t-0", named, "--json")
        assert outcome.status == 2
        assert f"{name}: " in outcome.err
        [error] = outcome.document["errors"]
        assert error["file"] == str(place)
        assert "what it says is left out" in error["message"]
    with pytest.raises(LogStoreError, match=name):
        explain("t-0", [copy])


def test_directories_that_hold_nothing_of_the_partition_are_named(tmp_path: Path) -> None:
    asked, other = (write_copy(tmp_path / name, [data(0, b"a")]) for name in ("asked", "other"))
    (other / "t-0").rename(other / "u-0")
    kept = tmp_path / "kept" / "v-0"
    kept.mkdir(parents=True)
    (kept / f"{1:020d}-epoch2-20261121T163614.123Z.log").write_bytes(b"")
    for named, name in ((other, "other"), (other / "u-0", "other"), (tmp_path / "kept", "kept")):
        outcome = epochlog("explain", "t-0", asked, named, "--json")
        assert outcome.status == 0
        assert outcome.document["left_out"] == [name]
        assert f"not asked, since they hold nothing of t-0: {name}" in outcome.err
    assert not epochlog("explain", "t-0", asked).err


def test_what_a_log_lost_of_an_epoch_that_it_followed_was_not_truncated(tmp_path: Path) -> None:
    """Its checkpoint says that epoch 0 went on to offset 2, so that the follower's record there was its own."""
    leader = write_copy(tmp_path / "leader", [data(0, b"a")])
    (leader / "t-0" / "leader-epoch-checkpoint").write_bytes(format_checkpoint([(0, 0), (1, 2)]))
    follower = write_copy(tmp_path / "follower", [data(0, b"a"), data(0, b"b")])
    [_, lost] = explain("t-0", [leader, follower], leader="leader").ranges
    assert (lost.first_offset, lost.last_offset, lost.why, lost.leader_epoch) == (1, 1, Why.MISSING, 0)
    assert "follower has it" in lost.evidence


def test_a_record_above_the_clusters_high_watermark_is_given_to_nobody(tmp_path: Path) -> None:
    copy = write_copy(tmp_path / "broker-1", [data(0, b"a"), data(0, b"b"), data(0, b"c")])
    explained = explain("t-0", [copy], end=5)
    told = explained.committed_to(2)
    assert told.counts == {Why.DELIVERED: 2, Why.UNCOMMITTED: 1, Why.NEVER_WRITTEN: 2}
    assert [each.first_offset for each in told.unexpected(np.arange(5)).ranges] == [2, 3]
    assert explained.committed_to(4).counts == {Why.DELIVERED: 3, Why.BEYOND: 1, Why.NEVER_WRITTEN: 1}
    assert explained.committed_to(3) is explained
