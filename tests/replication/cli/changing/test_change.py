"""`epochlog recover` and `epochlog truncate` repair a copy, or the directory itself where that is asked for."""

import errno
import hashlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from logstore.batch.record import Record
from logstore.directory.log_directory import LogDirectory
from logstore.files.directory_lock import DirectoryLock
from logstore.offline.offline_log_directory import open_offline
from logstore.topic_partition import TopicPartition
from logstore.verify import verify
from tests.replication.cli.command import epochlog

ORDERS = TopicPartition("orders", 0)
LOG = "orders-0/00000000000000000000.log"


def root_with_a_torn_log(path: Path) -> Path:
    """Two epochs of three batches each, of one record each, and a torn one; the broker was killed."""
    directory = LogDirectory.open(path)
    log = directory.create(ORDERS)
    for epoch in (0, 2):
        for _ in range(3):
            log.append([Record(0, 1_000, b"k", b"v" * 50)], leader_epoch=epoch)
    directory.abandon()
    with open(path / LOG, "ab") as file:
        file.write(b"torn")
    return path


def contents(path: Path) -> dict[str, str]:
    return {
        str(each.relative_to(path)): hashlib.sha256(each.read_bytes()).hexdigest()
        for each in path.rglob("*")
        if each.is_file()
    }


def make_read_only(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def refuse(path: Path, flags: int, *mode: int) -> int:
        if path == file and flags & os.O_RDWR:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return real(path, flags, *mode)

    monkeypatch.setattr(os, "open", refuse)


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    return root_with_a_torn_log(tmp_path / "broken")


def is_sound(path: Path) -> bool:
    return not [finding for finding in verify(open_offline(path)) if finding.severity.needs_attention]


@pytest.mark.parametrize("command", [["recover"], ["truncate", "--to", 3]])
def test_a_copy_is_never_written_into_what_is_copied(command: list[object], broken: Path) -> None:
    before = contents(broken)
    name, *rest = command
    for place in (broken / "orders-0", broken / "orders-0/new", broken / "other/../orders-0/new"):
        outcome = epochlog(name, broken / "orders-0", *rest, "--output", place)
        assert (outcome.status, outcome.err.count("\n")) == (2, 1)
        assert "name a directory outside of it" in outcome.err
    assert contents(broken) == before
    assert [path.name for path in (broken / "orders-0").iterdir() if path.is_dir()] == []


@pytest.mark.parametrize("arguments", [["recover"], ["truncate", "--to", 3]])
def test_nothing_is_done_unless_it_is_said_where(arguments: list[object], broken: Path, tmp_path: Path) -> None:
    before = contents(broken)
    command, *rest = arguments
    partition = broken / "orders-0"
    assert epochlog(command, partition, *rest).err.startswith("epochlog: name either --output DIR2 or --in-place; ")
    both = epochlog(command, partition, *rest, "--in-place", "--output", tmp_path / "new")
    assert both.status == 2
    assert contents(broken) == before


class TestRecover:
    def test_writes_a_whole_root_that_opens_cleanly_and_leaves_the_original(self, broken: Path, tmp_path: Path) -> None:
        before = contents(broken)
        outcome = epochlog("recover", broken, "--output", tmp_path / "new", "--json")
        assert outcome.status == 1
        (told,) = outcome.document["partitions"]
        assert (told["topic"], told["log_end_offset"], told["dropped_bytes"]) == ("orders", 6, 4)
        assert told["dropped"][0]["reason"] == "the file ends inside a batch"
        assert contents(broken) == before
        assert (tmp_path / "new/.kafka_cleanshutdown").exists()
        assert is_sound(tmp_path / "new")
        again = epochlog("recover", tmp_path / "new", "--in-place", "--yes")
        assert again.status == 0
        assert "not checked: cleanly closed; --all checks it" in again.out
        assert "nothing was wrong" not in again.out
        checked = epochlog("recover", tmp_path / "new", "--in-place", "--yes", "--all")
        assert (checked.status, "nothing was wrong" in checked.out) == (0, True)

    @pytest.mark.parametrize("how", [["--in-place", "--yes"], ["--dry-run"], ["--output"]])
    @pytest.mark.parametrize("place", ["broken", "broken/orders-0"])
    def test_says_that_committed_records_are_lost(
        self, how: list[object], place: str, broken: Path, tmp_path: Path
    ) -> None:
        data = bytearray((broken / LOG).read_bytes())
        data[-20] ^= 1  # in the last of six batches, before the torn one
        (broken / LOG).write_bytes(data)
        (broken / "replication-offset-checkpoint").write_text("0\n1\norders 0 6\n")
        shutil.copytree(broken, tmp_path / "again/broken")
        for root, more in ((tmp_path, []), (tmp_path / "again", ["--json"])):
            where = [*how, root / "new"] if how == ["--output"] else how
            outcome = epochlog("recover", root / place, *where, *more)
            assert outcome.status == 3, outcome.err
            if more:
                (told,) = outcome.document["partitions"]
                assert (told["log_end_offset"], told["high_watermark_before"]) == (5, 6)
                assert (told["committed_offsets_lost"], told["closed_in_order"]) == (1, False)
            else:
                assert "committed records lost: at most 1 record (offset 5), counting the offsets" in outcome.out

    def test_says_nothing_of_committed_records_where_none_are_lost(self, broken: Path) -> None:
        (broken / "replication-offset-checkpoint").write_text("0\n1\norders 0 6\n")
        outcome = epochlog("recover", broken, "--dry-run", "--json")
        (told,) = outcome.document["partitions"]
        assert (told["high_watermark_before"], told["committed_offsets_lost"]) == (6, 0)
        assert "committed" not in epochlog("recover", broken, "--in-place", "--yes").out

    def test_works_in_place_where_that_is_named(self, broken: Path) -> None:
        outcome = epochlog("recover", broken, "--in-place", "--yes")
        assert outcome.status == 1
        assert "cut at" in outcome.out
        assert "bytes in 1 segments of 1 partitions to check" in outcome.err
        assert is_sound(broken)

    def test_recovers_a_single_partition(self, broken: Path, tmp_path: Path) -> None:
        before = contents(broken)
        outcome = epochlog("recover", broken / "orders-0", "--output", tmp_path / "new")
        assert outcome.status == 1
        assert contents(broken) == before
        assert is_sound(tmp_path / "new/orders-0")

    def test_checks_what_counts_as_clean_only_when_told_to(self, broken: Path, tmp_path: Path) -> None:
        epochlog("recover", broken, "--in-place", "--yes")
        data = bytearray((broken / LOG).read_bytes())
        data[100] ^= 1
        (broken / LOG).write_bytes(data)
        assert epochlog("recover", broken, "--output", tmp_path / "trusting").status == 0
        outcome = epochlog("recover", broken, "--output", tmp_path / "new", "--all", "--json")
        assert outcome.document["partitions"][0]["log_end_offset"] == 0
        assert epochlog("recover", broken / "orders-0", "--output", tmp_path / "newer", "--all").status == 1

    def test_refuses_a_root_that_is_in_use(self, broken: Path, tmp_path: Path) -> None:
        with DirectoryLock.acquire(broken):
            for where in (["--in-place", "--yes"], ["--output", tmp_path / "new"]):
                for directory in (broken, broken / "orders-0"):
                    outcome = epochlog("recover", directory, *where)
                    assert outcome.status == 2
                    assert "locked by" in outcome.err

    def test_copies_a_read_only_root_while_nobody_works_there(
        self, broken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with DirectoryLock.acquire(broken):
            make_read_only(broken / ".lock", monkeypatch)
            assert "locked by" in epochlog("recover", broken, "--output", tmp_path / "new").err
        assert epochlog("recover", broken, "--output", tmp_path / "new").status == 1
        assert is_sound(tmp_path / "new")
        refused = epochlog("recover", broken, "--in-place", "--yes")
        assert refused.status == 2
        assert refused.err.splitlines()[-1] == f"epochlog: {broken}/.lock: Read-only file system"

    def test_writes_over_nothing(self, broken: Path, tmp_path: Path) -> None:
        (tmp_path / "new").mkdir()
        outcome = epochlog("recover", broken, "--output", tmp_path / "new")
        assert outcome.status == 2
        assert "does not exist yet" in outcome.err


class TestTruncate:
    def test_cuts_a_copy_with_all_that_belongs_to_it(self, broken: Path, tmp_path: Path) -> None:
        before = contents(broken)
        outcome = epochlog("truncate", broken / "orders-0", "--to", 2, "--output", tmp_path / "new", "--json")
        assert outcome.status == 0
        told = outcome.document
        assert (told["log_end_offset_before"], told["log_end_offset"], told["records_removed"]) == (6, 2, 4)
        assert (tmp_path / "new/orders-0/leader-epoch-checkpoint").read_text() == "0\n1\n0 0\n"
        assert is_sound(tmp_path / "new/orders-0")
        assert contents(broken) == before

    def test_works_in_place_where_that_is_named(self, broken: Path) -> None:
        outcome = epochlog("truncate", broken / "orders-0", "--to", 4, "--in-place", "--yes")
        assert outcome.status == 0
        assert "ended at 6 and ends at 4" in outcome.out
        assert "2 records in" in outcome.err
        with LogDirectory.open(broken) as directory:
            assert directory.log(ORDERS).log_end_offset == 4

    def test_drops_nothing_beyond_the_end(self, broken: Path, tmp_path: Path) -> None:
        outcome = epochlog("truncate", broken / "orders-0", "--to", 99, "--output", tmp_path / "new", "--json")
        assert outcome.document["log_end_offset"] == 6

    def test_says_of_one_committed_record_that_it_goes(self, broken: Path) -> None:
        (broken / "replication-offset-checkpoint").write_text("0\n1\norders 0 5\n")
        outcome = epochlog("truncate", broken / "orders-0", "--to", 4, "--dry-run")
        lost = "1 record (offset 4, leader epoch 2, written 1970-01-01 00:00:01 UTC) of orders-0"
        assert outcome.out.startswith(f"critical: {lost} is to be dropped though it lies below the high watermark, 5\n")

    @pytest.mark.parametrize("how", [["--in-place", "--yes"], ["--dry-run"], ["--output"]])
    def test_says_first_that_committed_records_go(self, how: list[object], broken: Path, tmp_path: Path) -> None:
        (broken / "replication-offset-checkpoint").write_text("0\n1\norders 0 5\n")
        shutil.copytree(broken, tmp_path / "again/broken")
        where = [*how, tmp_path / "new"] if how == ["--output"] else how
        outcome = epochlog("truncate", broken / "orders-0", "--to", 2, *where)
        lost = "3 records (offsets 2..4, leader epochs 0, 2, written 1970-01-01 00:00:01 UTC) of orders-0"
        are = "are to be" if how == ["--dry-run"] else "were"
        assert outcome.out.startswith(f"critical: {lost} {are} dropped though they lie below the high watermark, 5\n")
        if how != ["--dry-run"]:
            assert outcome.err.startswith(f"critical: {lost} are to be dropped")
        assert outcome.status == 3
        where = [*how, tmp_path / "again/new"] if how == ["--output"] else how
        told = epochlog("truncate", tmp_path / "again/broken/orders-0", "--to", 2, *where, "--json")
        assert told.status == 3
        assert told.document["committed_lost"] == {
            "records": 3,
            "control_records": 0,
            "first_offset": 2,
            "last_offset": 4,
            "epochs": [0, 2],
            "min_timestamp": 1_000,
            "max_timestamp": 1_000,
        }

    def test_counts_what_stands_behind_damage_among_the_committed_records(self, broken: Path) -> None:
        (broken / "replication-offset-checkpoint").write_text("0\n1\norders 0 6\n")
        data = bytearray((broken / LOG).read_bytes())
        data[-20] ^= 1
        (broken / LOG).write_bytes(data)
        told = epochlog("truncate", broken / "orders-0", "--to", 4, "--dry-run", "--json")
        assert told.status == 3
        assert (told.document["high_watermark_before"], told.document["high_watermark"]) == (6, 4)
        lost = told.document["committed_lost"]
        assert (lost["records"], lost["first_offset"], lost["last_offset"]) == (2, 4, 5)

    @pytest.mark.parametrize("to", [5, 6])
    def test_ends_well_where_only_others_go(self, to: int, broken: Path) -> None:
        (broken / "replication-offset-checkpoint").write_text("0\n1\norders 0 5\n")
        outcome = epochlog("truncate", broken / "orders-0", "--to", to, "--dry-run")
        assert (outcome.status, "critical" in outcome.out) == (0, False)

    def test_takes_one_partition_only(self, broken: Path) -> None:
        outcome = epochlog("truncate", broken, "--to", 0, "--in-place", "--yes")
        assert outcome.status == 2
        assert "one partition's directory" in outcome.err


@pytest.mark.parametrize("how", [["--in-place", "--yes"], ["--in-place", "--dry-run"], ["--dry-run"], ["--output"]])
@pytest.mark.parametrize("place", ["away/orders-0", "root/elsewhere", "nowhere"])
def test_a_root_with_a_partition_that_is_a_link_is_left_as_it_is(how: list[object], place: str, tmp_path: Path) -> None:
    root = root_with_a_torn_log(tmp_path / "root")
    (root / "replication-offset-checkpoint").write_text("0\n1\norders 0 6\n")
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (root / "orders-0").rename(tmp_path / place)
    if place == "nowhere":
        (tmp_path / place).rename(tmp_path / "gone")
    (root / "orders-0").symlink_to(tmp_path / place)
    with LogDirectory.open(tmp_path / "other") as other:
        other.create(TopicPartition("payments", 0))
    (tmp_path / "other/payments-0").rename(root / "payments-0")
    before = contents(tmp_path)
    where = [*how, tmp_path / "new"] if how == ["--output"] else how
    outcome = epochlog("recover", root, *where)
    assert (outcome.status, outcome.out) == (2, "")
    assert "orders-0: the partition's directory is a symbolic link" in outcome.err
    assert contents(tmp_path) == before


KILLED: Final = """
import os, signal, sys
from epoch.filesystem import FileSystem
from replication.cli.main import main

copied, real = [], FileSystem.copy

def copy(self, *arguments):
    real(self, *arguments)
    copied.append(arguments)
    if len(copied) == 2:
        os.kill(os.getpid(), signal.SIGKILL)

FileSystem.copy = copy
main(sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("command", "source", "copy"),
    [
        (["recover"], "broken", "copy"),
        (["recover"], "broken/orders-0", "copy/orders-0"),
        (["truncate", "--to", "3"], "broken/orders-0", "copy/orders-0"),
    ],
    ids=["recover a root", "recover a log", "truncate"],
)
def test_no_part_of_a_copy_has_its_name_where_the_command_is_killed(
    command: list[str], source: str, copy: str, broken: Path, tmp_path: Path
) -> None:
    name, *options = command
    words = [name, str(broken.parent / source), *options, "--output", str(tmp_path / "copy")]
    killed = subprocess.run([sys.executable, "-c", KILLED, *words], capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (tmp_path / copy).exists()
    assert [path.name for path in (tmp_path / copy).parent.glob(".*.part")], "nothing was being copied"
