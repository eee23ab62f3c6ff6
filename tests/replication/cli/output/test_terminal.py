"""What a terminal gets that a pipe does not: red for what is lost, and how far long work is."""

import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from tests.data.replicas import replicas
from tests.replication.cli.command import epochlog

ONE, TWO = (replicas("diverged") / name for name in ("broker-1", "broker-2"))
salvage, explain, dump = (import_module(f"replication.cli.commands.{name}") for name in ("salvage", "explain", "dump"))
RED, PLAIN = "\033[1;31m", "\033[0m"
LOSING = ["truncate", ONE / "diverge-0", "--to", "10", "--dry-run"]


def on_a_terminal(*words: object, output: Path | None = None, **environment: str) -> str:
    """What a command shows on a terminal, where its standard output may go to a file instead."""
    ours, theirs = pty.openpty()
    variables = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    command = [sys.executable, "-m", "replication.cli", *map(str, words)]
    with open(output or os.devnull, "wb") as file:
        process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs if output is None else file,
            stderr=theirs,
            env={**variables, "TERM": "xterm-256color", **environment},
        )
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 1 << 16):
            shown += part
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(ours)
        process.wait()
    return shown.decode()


@pytest.mark.parametrize("words", [LOSING, ["advise", ONE, TWO]], ids=["truncate", "advise"])
def test_critical_is_red_on_a_terminal(words: list[object]) -> None:
    assert f"{RED}critical{PLAIN}: " in on_a_terminal(*words)


def test_why_a_command_ends_with_3_is_red_too() -> None:
    assert f"{RED}Exit status 3{PLAIN}: acknowledged records are lost" in on_a_terminal("incident", ONE, TWO)


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["NO_COLOR", "dumb"])
def test_nothing_is_red_where_nobody_wants_that(variable: dict[str, str]) -> None:
    shown = on_a_terminal(*LOSING, **variable)
    assert shown.startswith("critical: ")
    assert RED not in shown


def test_nothing_is_red_in_a_pipe() -> None:
    assert epochlog(*LOSING).out.startswith("critical: ")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["salvage", ONE, TWO, "--kept", "broker-2", "--dry-run"], "salvaging"),
        (["salvage", ONE, TWO, "--kept", "broker-2", "--output", "{new}.jsonl"], "salvaging"),
        (["explain", "diverge-0", ONE, TWO], "reading"),
        (["dump", ONE / "diverge-0", "--output", "{new}.parquet"], "reading"),
    ],
    ids=["salvage", "salvage to a file", "explain", "dump to a file"],
)
def test_long_work_shows_how_far_it_is(words: list[object], what: str, tmp_path: Path) -> None:
    named = [str(each).replace("{new}", str(tmp_path / "new")) for each in words]
    assert f"{what} " in on_a_terminal(*named)


def test_a_dump_shows_that_where_its_output_goes_elsewhere_and_prints_the_same(tmp_path: Path) -> None:
    copy = shutil.copytree(ONE / "diverge-0", tmp_path / "diverge-0")
    shown = on_a_terminal("dump", copy, "--records", output=tmp_path / "dumped")
    assert "dumping " in shown
    assert (tmp_path / "dumped").read_text() == epochlog("dump", copy, "--records").out
    assert "dumping " not in on_a_terminal("dump", copy)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (salvage, ["salvage", ONE, TWO, "--kept", "broker-2", "--dry-run"]),
        (explain, ["explain", "diverge-0", ONE, "--replica", "broker-1"]),
        (dump, ["dump", ONE / "diverge-0", "--output", "{new}.parquet"]),
    ],
    ids=["salvage", "explain", "dump"],
)
def test_a_bar_is_at_its_end_once_the_work_is_done(
    command: ModuleType, words: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []
    totals: list[int] = []

    @contextmanager
    def counting(_: str, total: int, **__: bool) -> Iterator[Callable[[int], None]]:
        totals.append(total)
        yield done.append

    monkeypatch.setattr(command, "progress_bar", counting)
    assert epochlog(*(str(each).replace("{new}", str(tmp_path / "new")) for each in words)).status == 0
    assert sum(totals) == sum(done) > 0
