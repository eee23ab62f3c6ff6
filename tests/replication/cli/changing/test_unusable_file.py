"""`epochlog recover` and `epochlog truncate` where a log cannot be repaired: nothing else is kept from it."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from logstore.directory.log_directory import LogDirectory
from tests.data.replicas import replicas
from tests.replication.cli.changing.test_change import contents
from tests.replication.cli.command import epochlog

LOG = f"{0:020}.log"
INDEX = f"{0:020}.index"
COMMITTED = 420
"""The high watermark of the partitions that are damaged here."""
NOBODY = 65_534
WAYS = pytest.mark.parametrize("how", [["--in-place", "--yes"], ["--dry-run"], ["--output"]])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A broker's root with a log that is cut in the middle."""
    root = shutil.copytree(replicas("diverged") / "broker-1", tmp_path / "broker-1")
    os.truncate(root / "hwloss-0" / LOG, 30_000)
    return root


def put_in_place_of(file: Path, what: str) -> None:
    file.unlink()
    match what:
        case "a directory":
            file.mkdir()
        case "a pipe":
            os.mkfifo(file)
        case "a symbolic link":
            file.symlink_to("/nowhere")


@WAYS
@pytest.mark.parametrize(
    ("name", "what"),
    [
        (LOG, "a directory"),
        (LOG, "a pipe"),
        (LOG, "a symbolic link"),
        (INDEX, "a directory"),
        ("leader-epoch-checkpoint", "a directory"),
        ("leader-epoch-checkpoint", "a pipe"),
    ],
)
def test_a_log_that_cannot_be_recovered_is_named_and_the_others_are_recovered_and_reported(
    name: str, what: str, how: list[object], root: Path, tmp_path: Path
) -> None:
    put_in_place_of(root / "diverge-0" / name, what)
    shutil.copytree(root, tmp_path / "again/broker-1", symlinks=True, copy_function=_copy)
    where = [*how, tmp_path / "new"] if how == ["--output"] else how
    text = epochlog("recover", root, *where)
    assert text.status == 3
    _columns, first, *_, last = text.out.splitlines()
    assert first.startswith("hwloss-0\t")
    assert "committed records lost: at most 327 records (offsets 93..419)" in first
    assert last.startswith(f"diverge-0 could not be recovered: {root}/diverge-0/{name}: {what} stands where this file")
    if how != ["--dry-run"]:
        assert last in text.err
    where = [*how, tmp_path / "again/new"] if how == ["--output"] else how
    told = epochlog("recover", tmp_path / "again/broker-1", *where, "--json")
    assert told.status == 3
    assert len(told.document["partitions"]) == len(list(root.glob("*-*/"))) - 1
    [error] = told.document["errors"]
    assert (error["topic"], error["class"]) == ("diverge", "UnusableFileError")
    assert error["file"] == f"{tmp_path}/again/broker-1/diverge-0/{name}"
    if how == ["--output"]:
        with LogDirectory.open(tmp_path / "new") as opened:
            assert "diverge" not in {partition.topic for partition in opened.partitions}
            assert not opened.unreadable


def _copy(source: str, target: str) -> None:
    if Path(source).is_fifo():
        os.mkfifo(target)
    else:
        shutil.copy2(source, target)


def test_that_a_log_could_not_be_recovered_goes_before_what_was_found(root: Path) -> None:
    shutil.rmtree(root / "hwloss-0")
    put_in_place_of(root / "diverge-0" / LOG, "a directory")
    assert epochlog("recover", root, "--in-place", "--yes").status == 2


@WAYS
@pytest.mark.parametrize("command", [["recover"], ["truncate", "--to", 300]])
@pytest.mark.parametrize("what", ["a directory", "a pipe", "a symbolic link"])
def test_nothing_is_announced_or_changed_where_the_one_log_cannot_be_repaired(
    what: str, command: list[object], how: list[object], root: Path, tmp_path: Path
) -> None:
    put_in_place_of(root / "diverge-0" / LOG, what)
    before = contents(root)
    name, *rest = command
    where = [*how, tmp_path / "new"] if how == ["--output"] else how
    outcome = epochlog(name, root / "diverge-0", *rest, *where)
    assert (outcome.status, outcome.out) == (2, "")
    [line] = outcome.err.splitlines()
    assert line.startswith(f"epochlog: {root}/diverge-0/{LOG}: {what} stands where this file belongs; move it out")
    assert contents(root) == before


@pytest.fixture
def of_another_user(root: Path) -> Iterator[Path]:
    """The root as a user sees it who may not enter one of its directories."""
    with tempfile.TemporaryDirectory() as place:
        seen = shutil.copytree(root, Path(place) / "broker-1")
        is_root = os.geteuid() == 0
        if is_root:
            for path in (Path(place), seen, *seen.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        (seen / "orders-0").chmod(0)
        try:
            yield seen
        finally:
            (seen / "orders-0").chmod(0o700)
            if is_root:
                os.seteuid(0)


@WAYS
def test_a_directory_that_may_not_be_entered_keeps_no_other_log_from_recovery(
    how: list[object], of_another_user: Path
) -> None:
    where = [*how, of_another_user.parent / "new"] if how == ["--output"] else how
    outcome = epochlog("recover", of_another_user, *where)
    assert outcome.status == 3
    last = outcome.out.splitlines()[-1]
    assert last.startswith(f"orders-0 could not be recovered: {of_another_user}/orders-0: may not be read")
    assert last.endswith("by this user; run as the broker's user, or grant this user access")
    assert "327 records (offsets 93..419)" in outcome.out
