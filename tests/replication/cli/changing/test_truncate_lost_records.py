"""`epochlog truncate` of a log that has lost records already, or whose high watermark nobody knows."""

import os
import shutil
from pathlib import Path

import pytest

from logstore.files.root_checkpoints import RootCheckpoints
from logstore.topic_partition import TopicPartition
from tests.data.replicas import replicas
from tests.replication.cli.command import Outcome, epochlog

LOG = f"diverge-0/{0:020}.log"
CHECKPOINT = "replication-offset-checkpoint"
WAYS = pytest.mark.parametrize("how", [["--dry-run"], ["--in-place", "--yes"], ["--output"]])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A broker's root, in which the log diverge-0 has 420 records, all committed."""
    return shutil.copytree(replicas("diverged") / "broker-1", tmp_path / "broker-1")


def truncate(root: Path, to: int, how: list[object], *more: object) -> Outcome:
    where = [*how, root.parent / f"new{len(more)}"] if how == ["--output"] else how
    return epochlog("truncate", root / "diverge-0", "--to", to, *where, *more)


@WAYS
@pytest.mark.parametrize("loss", ["its content", "its end", "one bit"])
def test_committed_records_that_are_gone_already_are_critical_and_stay_noticeable(
    loss: str, how: list[object], root: Path
) -> None:
    match loss:
        case "its content":
            os.truncate(root / LOG, 0)
        case "its end":
            os.truncate(root / LOG, 30_000)
        case "one bit":
            data = bytearray((root / LOG).read_bytes())
            data[20_000] ^= 1
            (root / LOG).write_bytes(data)
    shutil.copytree(root, root.parent / "again/broker-1")
    end = 0 if loss == "its content" else 93
    text = truncate(root, 300, how)
    told = truncate(root.parent / "again/broker-1", 300, how, "--json")
    assert text.status == told.status == 3
    gone = f"{420 - end} records (offsets {end}..419)"
    assert text.out.startswith(f"critical: {gone} of diverge-0 that lie below the high watermark, 420, cannot be read")
    document = told.document
    assert (document["committed_lost"]["first_offset"], document["committed_lost"]["last_offset"]) == (end, 419)
    assert (document["log_end_offset_before"], document["log_end_offset"], document["high_watermark"]) == (
        end,
        end,
        420,
    )
    assert document["damage"]["end_offset"] == end
    assert RootCheckpoints.read(root).of(TopicPartition("diverge", 0)).high_watermark == 420
    if how != ["--output"]:
        assert epochlog("verify", root / "diverge-0").status == 1


@WAYS
def test_a_log_whose_segments_are_gone_is_refused_and_stays_as_it_is(how: list[object], root: Path) -> None:
    for path in (root / "diverge-0").glob(f"{0:020}.*"):
        path.unlink()
    left = sorted(root.rglob("*"))
    outcome = truncate(root, 300, how)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(
        f"epochlog: {root / 'diverge-0'}: nothing to truncate: all segments are missing (there is no .log file), "
        "including committed records: its high watermark is 420; restore them from a copy; or remove"
    )
    assert sorted(root.rglob("*")) == left
    assert not list(root.parent.glob("new*"))


@pytest.mark.parametrize("how", [["--dry-run"], ["--in-place", "--yes"]])
def test_damage_is_named_as_what_ends_the_log_with_the_bytes_that_recovery_drops(how: list[object], root: Path) -> None:
    data = bytearray((root / LOG).read_bytes())
    data[20_000] ^= 1
    (root / LOG).write_bytes(data)
    outcome = truncate(root, 300, how)
    _critical, damage, recovery, _ = outcome.out.splitlines()
    assert damage.startswith(f"diverge-0: {root / LOG}: ")
    assert "at position 16,262, offset 93" in damage
    are = "are to be" if how == ["--dry-run"] else "were"
    assert recovery == (
        f"diverge-0: recovery truncates the log to 93, regardless of --to: {len(data) - 16_262:,} bytes {are} dropped"
    )


@WAYS
def test_a_truncation_lowers_the_high_watermark_below_what_was_lost_before(how: list[object], root: Path) -> None:
    os.truncate(root / LOG, 30_000)
    told = truncate(root, 50, how, "--json").document
    assert told["log_end_offset"] < 93
    assert told["high_watermark"] == told["log_end_offset"]
    assert (told["committed_lost"]["first_offset"], told["committed_lost"]["last_offset"]) == (
        told["log_end_offset"],
        419,
    )
    if how[0] == "--in-place":
        known = RootCheckpoints.read(root).of(TopicPartition("diverge", 0))
        assert known.high_watermark == told["log_end_offset"]


@WAYS
@pytest.mark.parametrize("what", ["no entry", "no file", "a pipe"])
def test_it_is_said_where_nobody_knows_what_was_committed(what: str, how: list[object], root: Path) -> None:
    (root / CHECKPOINT).unlink()
    if what == "no entry":
        (root / CHECKPOINT).write_text("0\n0\n")
    if what == "a pipe":
        os.mkfifo(root / CHECKPOINT)
    outcome = truncate(root, 300, how)
    assert outcome.status == (1 if what == "a pipe" else 0)
    assert "it is not known whether the dropped records were committed" in outcome.out


def test_a_dry_run_foresees_that_a_damaged_checkpoint_file_keeps_the_log_from_being_changed(root: Path) -> None:
    (root / CHECKPOINT).write_bytes(b"\xff\xfe")
    planned, done = truncate(root, 300, ["--dry-run"]), truncate(root, 300, ["--in-place", "--yes"])
    assert (planned.status, planned.out) == (done.status, done.out) == (2, "")
    assert planned.err == done.err
    assert f"{root}/{CHECKPOINT}: line 1: the bytes are not text" in planned.err
    copied = truncate(root, 300, ["--output"], "--json")
    assert (copied.status, copied.document["high_watermark_unread"]) == (1, True)


def test_a_damaged_epoch_checkpoint_is_to_be_rebuilt_first(root: Path) -> None:
    (root / "diverge-0/leader-epoch-checkpoint").write_text("0\n3\n0")
    outcome = truncate(root, 300, ["--dry-run"])
    assert outcome.status == 2
    assert "line 3: '0' does not have 2 fields; `epochlog recover` rebuilds this file from the batches" in outcome.err
    assert epochlog("recover", root / "diverge-0", "--in-place", "--yes").status == 1
    assert truncate(root, 300, ["--dry-run"]).status == 3
