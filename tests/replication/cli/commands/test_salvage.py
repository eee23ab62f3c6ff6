"""`epochlog salvage`: as text, as JSON, to files, and its exit status."""

import json
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from epoch.checkpoint import format_checkpoint
from tests.data.replicas import replicas
from tests.replication.cli.command import epochlog
from tests.replication.copies.salvage.copies import COMMIT, data, marker, write_copy

COMMON = data(0, b"common")
DIVERGED = [replicas("diverged") / f"broker-{number}" for number in (1, 2, 3)]


def copies(directory: Path) -> list[Path]:
    """With a conflict, a transaction that is open, and one that the kept copy has not ended."""
    begun = data(0, b"begun", producer=8, transactional=True)
    kept = [COMMON, begun, data(2, b"kept value", key=b"k\x1b[2J", timestamp=1_790_000_000_000)]
    losing = [
        COMMON,
        begun,
        data(1, b"lost value", key=b"k\x1b[2J"),
        data(1, b"a"),
        marker(1, COMMIT, 8),
        data(1, b"open", producer=7, transactional=True),
    ]
    return [write_copy(directory / "broker-0", kept), write_copy(directory / "broker-1", losing)]


def test_a_dry_run_says_what_the_run_does_and_writes_nothing(tmp_path: Path) -> None:
    target = tmp_path / "records.jsonl"
    dry = epochlog("salvage", *DIVERGED, "--kept", "broker-2", "--dry-run")
    assert (dry.status, dry.err, list(tmp_path.iterdir())) == (0, "", [])
    done = epochlog("salvage", *DIVERGED, "--kept", "broker-2", "--output", target)
    assert done.status == 0
    assert dry.out.startswith("240 records to salvage: what other copies have and broker-2 lacks")
    lines = [line for line in done.out.splitlines() if line != f"Written to {target}."]
    words = dry.out.replace("to\n  salvage", "salvaged").replace("to salvage", "salvaged").split()
    assert " ".join(lines).split() == words
    assert len(target.read_text().splitlines()) == 240
    assert all(len(line) <= 100 for line in done.out.splitlines())


@pytest.mark.parametrize("command", [["salvage", "--dry-run"], ["transactions"]])
def test_topics_are_chosen_by_patterns_too(command: list[str]) -> None:
    named, matched = (
        epochlog(*command, *DIVERGED, "--kept", "broker-2", "--json", "--topics", topics).document
        for topics in ("diverge,hwloss", "d?verge,hw*")
    )
    assert matched == named
    assert named["partitions"]


def test_json_has_the_same_counts_dry_or_not(tmp_path: Path) -> None:
    arguments = ["salvage", *DIVERGED, "--kept", "2", "--json"]
    dry = epochlog(*arguments, "--dry-run").document
    done = epochlog(*arguments, "--output", tmp_path / "records.parquet").document
    assert done == {**dry, "to": str(tmp_path / "records.parquet")}
    assert (dry["kept"], dry["salvaged"]) == ("broker-2", 240)


def test_what_somebody_has_to_decide_is_listed_and_the_status_is_1(tmp_path: Path) -> None:
    roots = copies(tmp_path)
    outcome = epochlog("salvage", *roots, "--kept", "broker-0", "--dry-run")
    assert outcome.status == 1
    lines = [line.strip() for line in outcome.out.splitlines()]
    assert "1 record in conflict: another copy has another write of their key after the fork" in lines
    assert lines.count("Choose what is salvaged of keys in conflict with --conflicts newest, losing or both.") == 1
    assert "1 record of Kafka's own, which mark the ends of transactions and which no consumer gets" in lines
    assert "\x1b" not in outcome.out
    assert any(line.startswith('Key "k\\x1b[2J": broker-1 has "lost value"') for line in lines)
    assert any(line.startswith("Producer 7, epoch 0, of broker-1 from offset 5 on") for line in lines)
    assert any(line.startswith("Producer 8, epoch 0, of broker-1 from offset 1 on") for line in lines)


def test_json_lists_all_of_it(tmp_path: Path) -> None:
    document = epochlog("salvage", *copies(tmp_path), "--kept", "broker-0", "--dry-run", "--json").document
    [partition] = document["partitions"]
    assert partition["left_out"] == {"control-marker": 1, "open-transaction": 1, "conflict": 1}
    assert [(each["reason"], each["first_offset"]) for each in partition["left_out_ranges"]] == [
        ("conflict", 2),
        ("control-marker", 4),
        ("open-transaction", 5),
    ]
    assert [each["producer_id"] for each in partition["transactions"]] == [7, 8]
    assert partition["conflicts"][0]["other"]["value"] == "a2VwdCB2YWx1ZQ=="


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--dry-run"),
        (["--dry-run", "--output", "/x.jsonl"], "--dry-run"),
        (["--output", "/x.csv"], ".parquet"),
        (["--kept", "broker-9", "--dry-run"], "broker-9"),
        (["--dry-run", "--conflicts", "mine"], "mine"),
        (["--dry-run", "--topics", "t,u"], "of the topics u; the snapshots hold the topics t"),
        (["--dry-run", "--compacted-topics", "u"], "of the topics u; the snapshots hold the topics t"),
        (["--dry-run", "--compacted-topics", "t*"], "of the topics t*; the snapshots hold the topics t"),
    ],
)
def test_bad_input_is_refused(
    arguments: list[Any], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    roots = copies(tmp_path / "copies")
    outcome = epochlog("salvage", *roots, "--kept", "broker-0", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert words in outcome.err
    assert [each.name for each in tmp_path.iterdir()] == ["copies"]


def test_partitions_that_the_kept_copy_lacks_are_told_and_the_status_is_1_until_they_are_named(tmp_path: Path) -> None:
    roots = [write_copy(tmp_path / f"broker-{number}", [COMMON]) for number in (0, 1, 2)]
    write_copy(roots[1], [COMMON], topic="u")
    write_copy(roots[1], [COMMON], topic="v")
    write_copy(roots[2], [COMMON], topic="v")
    arguments = ["salvage", *roots, "--kept", "broker-0", "--dry-run"]
    told = epochlog(*arguments)
    assert (told.status, told.err) == (1, "")
    assert "broker-0 does not hold 2 partitions of which other copies were found" in told.out
    assert "  u-0: held by broker-1\n  v-0: held by broker-1, broker-2\n" in told.out
    document = epochlog(*arguments, "--json").document
    assert document["lacking"] == [
        {"topic": "u", "partition": 0, "replicas": ["broker-1"]},
        {"topic": "v", "partition": 0, "replicas": ["broker-1", "broker-2"]},
    ]
    named = epochlog(*arguments, "--topics", "u,v")
    assert (named.status, named.err) == (0, "")
    assert named.out.startswith(
        "2 records to salvage: what other copies have and broker-0 lacks, in 2 of 2 partitions."
    )
    assert "u-0: 1 record" in named.out
    assert "broker-0 does not hold it: either it was never a replica, or it has lost it" in named.out


def test_copies_that_differ_or_are_damaged_below_the_fork_are_told_and_the_status_is_1(tmp_path: Path) -> None:
    below = data(0, b"below")
    kept = write_copy(tmp_path / "broker-0", [below, data(0, b"a"), data(2, b"kept")])
    lost = write_copy(tmp_path / "broker-1", [below, data(0, b"b"), data(1, b"lost")])
    log = lost / "t-0" / f"{0:020d}.log"
    log.write_bytes(log.read_bytes().replace(b"below", b"Below"))
    for root in (kept, lost):
        (root / ".kafka_cleanshutdown").touch()
    outcome = epochlog("salvage", kept, lost, "--kept", "broker-0", "--dry-run")
    assert outcome.status == 1
    words = " ".join(outcome.out.split())
    assert "broker-1 and broker-0 have different records at offset 1, under the same leader epochs." in words
    assert "Damaged below the fork: broker-1: " in words
    [partition] = epochlog("salvage", kept, lost, "--kept", "broker-0", "--dry-run", "--json").document["partitions"]
    assert partition["differences"] == [{"source": "broker-1", "offset": 1}]
    assert [each["source"] for each in partition["damaged_below"]] == ["broker-1"]


def test_a_kept_copy_that_is_damaged_is_refused_and_the_status_is_2(tmp_path: Path) -> None:
    target = tmp_path / "records.jsonl"
    kept = write_copy(tmp_path / "broker-0", [COMMON, data(2, b"kept")])
    lost = write_copy(tmp_path / "broker-1", [COMMON, data(1, b"lost")])
    log = kept / "t-0" / f"{0:020d}.log"
    log.write_bytes(log.read_bytes().replace(b"common", b"Common"))
    outcome = epochlog("salvage", kept, lost, "--kept", "broker-0", "--output", target)
    assert outcome.status == 2
    assert "repair it first (epochlog repair), or name another" in " ".join(outcome.err.split())
    assert target.read_bytes() == b""


def test_a_losing_copy_that_has_lost_its_end_is_told_and_the_status_is_1(tmp_path: Path) -> None:
    kept = write_copy(tmp_path / "broker-0", [COMMON])
    lost = write_copy(tmp_path / "broker-1", [COMMON, data(1, b"lost")])
    (lost / "replication-offset-checkpoint").write_bytes(format_checkpoint([("t", 0, 3)]))
    for command in (["salvage", "--dry-run"], ["transactions"]):
        outcome = epochlog(*command, kept, lost, "--kept", "broker-0")
        told = "the log ends at 2, and its replication-offset-checkpoint says that it reached 3"
        assert told in " ".join((outcome.out + outcome.err).split())
        assert outcome.status == 1


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_copys_name_that_is_no_text_is_written_as_reports_show_it(kind: str, tmp_path: Path) -> None:
    target = tmp_path / f"records.{kind}"
    kept = write_copy(tmp_path / "broker-0", [COMMON])
    lost = write_copy(tmp_path / os.fsdecode(b"broker-\xe9"), [COMMON, data(1, b"lost")])
    assert epochlog("salvage", kept, lost, "--kept", "broker-0", "--output", target).status == 0
    rows = [json.loads(target.read_text())] if kind == "jsonl" else pq.read_table(target).to_pylist()
    assert [row["source"] for row in rows] == [r"broker-\xe9"]


def test_only_partitions_of_which_something_is_salvaged_are_counted_and_a_tombstone_is_called_one(
    tmp_path: Path,
) -> None:
    kept = write_copy(tmp_path / "broker-0", [COMMON, data(2, b"x", key=b"k")])
    lost = write_copy(tmp_path / "broker-1", [COMMON, data(1, None, key=b"k")])
    out = epochlog("salvage", kept, lost, "--kept", "broker-0", "--dry-run").out
    assert out.startswith("0 records to salvage: what other copies have and broker-0 lacks, in 0 of 1 partition.")
    assert 'Key "k": broker-1 has a tombstone of 1970-01-01' in out


def test_a_partition_that_cannot_be_read_ends_with_2_and_the_others_are_written(tmp_path: Path) -> None:
    roots = copies(tmp_path / "copies")
    for root in roots:
        write_copy(root, [COMMON, *[data(1, b"lost")] * (root is roots[1])], topic="u")
    (roots[1] / "t-0/leader-epoch-checkpoint").write_text("no checkpoint")
    outcome = epochlog("salvage", *roots, "--kept", "broker-0", "--output", tmp_path / "records.jsonl", "--json")
    assert (outcome.status, outcome.document["salvaged"]) == (2, 1)
    assert [each["topic"] for each in outcome.document["errors"]] == ["t"]
