"""Commands on a full disk: nothing that is not whole has the name of a result, and the message says what to do."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from epoch.filesystem import FileSystem
from replication.cli.commands import demo
from replication.cli.judging import shipped_replicas
from replication.copies.audit.local import written_tables
from tests.data.replicas import replicas
from tests.replication.cli.command import epochlog

SOURCE = replicas("diverged") / "broker-1"
BROKERS = sorted(replicas("diverged").iterdir())
ROOM = 5
"""Steps that succeed before the disk is full."""


def full(*_: object, **__: object) -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def full_after(times: int, real: Callable[..., Any]) -> Callable[..., Any]:
    """Do what is to be done so many times, then find no room."""
    done: list[None] = []

    def step(*arguments: Any, **options: Any) -> Any:
        if len(done) == times:
            full()
        done.append(None)
        return real(*arguments, **options)

    return step


@pytest.mark.parametrize(("step", "room"), [("copy", 1), ("fsync", 0), ("rename", 0)])
@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["recover", SOURCE, "--all"], "new/copy"),
        (["recover", SOURCE / "diverge-0", "--all"], "new/copy/diverge-0"),
        (["truncate", SOURCE / "diverge-0", "--to", 100], "new/copy/diverge-0"),
    ],
    ids=["recover a root", "recover a log", "truncate"],
)
def test_nothing_is_left_of_a_copy(
    words: list[Any], name: str, step: str, room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = shutil.copytree(SOURCE, tmp_path / "broker-1")
    with open(max((source / "diverge-0").glob("*.log")), "ab") as file:
        file.write(b"torn")
    command, directory, *rest = words
    monkeypatch.setattr(FileSystem, step, full_after(room, getattr(FileSystem, step)))
    named = source / directory.relative_to(SOURCE)
    outcome = epochlog(command, named, *rest, "--output", tmp_path / "new/copy", "--json")
    assert (outcome.status, outcome.document["error"]["class"]) == (2, "FullDiskError")
    assert outcome.document["error"]["file"] == str(tmp_path / name)
    last = outcome.err.splitlines()[-1]
    assert last.startswith(f"epochlog: {tmp_path / name}: the disk is full: nothing of the copy is left; make space")
    assert [path.name for path in tmp_path.iterdir()] == ["broker-1"]


def test_a_directory_that_was_there_before_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "new/other-0").mkdir(parents=True)
    monkeypatch.setattr(FileSystem, "copy", full)
    assert epochlog("truncate", SOURCE / "diverge-0", "--to", 100, "--output", tmp_path / "new").status == 2
    assert [path.relative_to(tmp_path) for path in tmp_path.rglob("*")] == [Path("new"), Path("new/other-0")]


def test_recovery_in_place_says_where_there_is_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = shutil.copytree(SOURCE / "diverge-0", tmp_path / "diverge-0")
    with open(max(source.glob("*.log")), "ab") as file:
        file.write(b"torn")
    monkeypatch.setattr(FileSystem, "fsync", full)
    outcome = epochlog("recover", source, "--in-place", "--yes", "--all")
    assert outcome.status == 2
    assert f"diverge-0 could not be recovered: {source}" in outcome.out
    assert "make space" in outcome.out


@pytest.mark.parametrize("before", [None, "the page of yesterday"])
@pytest.mark.parametrize("command", ["audit", "incident"])
def test_a_page_is_whole_or_what_it_was(
    command: str, before: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.html"
    if before is not None:
        page.write_text(before)
    monkeypatch.setattr(FileSystem, "fsync", full)
    outcome = epochlog(command, *BROKERS, "--topics", "orders", "--report", page, "--overwrite")
    assert outcome.status == 2
    assert outcome.out
    assert outcome.err == (
        f"epochlog: --report {page} was not written: No space left on device; make space, or name a place on another "
        "disk, and run it again\n"
    )
    assert [(path, path.read_text()) for path in tmp_path.iterdir()] == ([] if before is None else [(page, before)])


@pytest.mark.parametrize("name", ["lost.jsonl", "lost.parquet"])
def test_no_part_of_the_differences_is_left(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FileSystem, "fsync", full)
    outcome = epochlog("audit", *BROKERS, "--topics", "diverge", "--differences", tmp_path / name)
    assert f"--differences {tmp_path / name} was not written: No space left on device" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_no_part_of_the_tables_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(written_tables, "_lines", full_after(ROOM, written_tables._lines))
    outcome = epochlog("audit", *BROKERS, "--topics", "orders", "--output", tmp_path / "tables")
    assert f"--output {tmp_path / 'tables'} was not written: No space left on device" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_no_part_of_unpacked_replicas_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unpack(place: Path) -> NoReturn:
        shipped_replicas.unpacked(place / "some")
        full()

    monkeypatch.setattr(demo, "unpacked", unpack)
    outcome = epochlog("demo", "--unpack", tmp_path / "replicas")
    assert outcome.status == 2
    assert f"{tmp_path / 'replicas'}: the disk is full" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_a_page_takes_the_place_of_the_one_before_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/page.html").write_text("the page of yesterday")
    (tmp_path / "page.html").symlink_to("pages/page.html")
    options = ("--topics", "orders", "--report", tmp_path / "page.html", "--overwrite")
    assert epochlog("audit", *BROKERS, *options).status == 0
    assert (tmp_path / "page.html").is_symlink()
    assert (tmp_path / "pages/page.html").read_text().startswith("<!")
    assert [path.name for path in (tmp_path / "pages").iterdir()] == ["page.html"]
