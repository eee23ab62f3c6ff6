"""`epochlog recover` reports what is wrong beside a log, and what nobody knows of it."""

import os
import shutil
from pathlib import Path

import pytest

from tests.data.replicas import replicas
from tests.replication.cli.command import Outcome, epochlog

CHECKPOINT = "replication-offset-checkpoint"
METADATA = "partition.metadata"
WAYS = pytest.mark.parametrize("how", [["--dry-run"], ["--in-place", "--yes"], ["--output"]])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A broker's root with one log, in which nothing is wrong."""
    root = shutil.copytree(replicas("diverged") / "broker-1", tmp_path / "broker-1")
    for path in root.glob("*-*/"):
        if path.name != "diverge-0":
            shutil.rmtree(path)
    (root / CHECKPOINT).write_text("0\n1\ndiverge 0 420\n")
    return root


def recover(directory: Path, how: list[object], *more: object) -> Outcome:
    where = [*how, directory.parent / f"new{len(more)}"] if how == ["--output"] else how
    return epochlog("recover", directory, *where, *more)


def test_nothing_is_wrong_where_all_is_well(root: Path) -> None:
    outcome = recover(root, ["--dry-run"])
    assert (outcome.status, "nothing was wrong" in outcome.out) == (0, True)


@WAYS
@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("a directory", "a directory stands where this file belongs"),
        ("a pipe", "a pipe stands where this file belongs"),
        (b"", "expected the lines version: 0 and topic_id: ..."),
        (b"version: 0\ntopic", "expected the lines version: 0 and topic_id: ..."),
        (b"\xff\xfe\x00", "expected the lines version: 0 and topic_id: ..."),
    ],
)
def test_a_damaged_topic_id_is_a_finding(content: bytes | str, fault: str, how: list[object], root: Path) -> None:
    path = root / "diverge-0" / METADATA
    path.unlink()
    if content == "a directory":
        path.mkdir()
    elif content == "a pipe":
        os.mkfifo(path)
    elif isinstance(content, bytes):
        path.write_bytes(content)
    text, told = recover(root, how), recover(root, how, "--json")
    assert text.status == told.status == 1
    assert "nothing was wrong" not in text.out
    [partition] = told.document["partitions"]
    [said] = partition["faults"]
    assert said.startswith(f"{path}: {fault}")
    assert said.endswith("a KRaft broker cannot load such a log, and treats a log without this file as stray")
    assert said in text.out


def test_a_log_without_a_topic_id_is_whole_as_before_kafka_2_8(root: Path) -> None:
    (root / "diverge-0" / METADATA).unlink()
    assert recover(root, ["--dry-run"]).status == 0


@WAYS
@pytest.mark.parametrize("place", ["", "diverge-0"])
def test_a_high_watermark_that_cannot_be_read_leaves_open_what_is_lost(
    place: str, how: list[object], root: Path
) -> None:
    (root / CHECKPOINT).unlink()
    os.mkfifo(root / CHECKPOINT)
    outcome = recover(root / place, how)
    assert outcome.status == 1
    assert f"whether committed records are lost is not known: {CHECKPOINT} could not be read" in outcome.out
    assert "nothing was wrong" not in outcome.out


def test_a_high_watermark_that_is_not_mentioned_leaves_open_what_was_dropped(root: Path) -> None:
    (root / CHECKPOINT).write_text("0\n0\n")
    assert recover(root, ["--dry-run"]).status == 0
    os.truncate(root / "diverge-0" / f"{0:020}.log", 30_000)
    outcome = recover(root, ["--dry-run"])
    assert outcome.status == 1
    assert f"whether committed records are lost is not known: {CHECKPOINT} does not mention it" in outcome.out


def test_a_dry_run_foresees_that_a_damaged_checkpoint_file_keeps_one_log_from_recovery(root: Path) -> None:
    (root / CHECKPOINT).write_bytes(b"\xff\xfe")
    planned = recover(root / "diverge-0", ["--dry-run"])
    done = recover(root / "diverge-0", ["--in-place", "--yes"])
    assert planned.status == done.status == 2
    for outcome in (planned, done):
        last = outcome.out.splitlines()[-1]
        assert last.startswith(f"diverge-0 could not be recovered: {root}/{CHECKPOINT}: line 1: the bytes are not text")


@pytest.mark.parametrize("how", [["--in-place", "--yes"], ["--output"]])
def test_a_disk_error_at_one_log_is_told_with_what_was_done_for_the_others(how: list[object], root: Path) -> None:
    shutil.copytree(replicas("diverged") / "broker-1/orders-0", root / "orders-0")
    log = max((root / "diverge-0").glob("*.log"))
    with open(log, "ab") as file:
        file.write(b"torn")
    checkpoint = root / "orders-0/leader-epoch-checkpoint"
    checkpoint.unlink()
    checkpoint.with_suffix(".tmp").mkdir()
    outcome = recover(root, how)
    told = recover(root, how, "--json").document
    assert outcome.status == 2
    assert f"{log.name} cut at " in next(line for line in outcome.out.splitlines() if line.startswith("diverge-0\t"))
    assert "orders-0 could not be recovered: " in outcome.out
    assert "leader-epoch-checkpoint.tmp: Is a directory" in outcome.out
    assert [each["topic"] for each in told["partitions"]] == ["diverge"]
    assert [(each["topic"], each["class"]) for each in told["errors"]] == [("orders", "IsADirectoryError")]
