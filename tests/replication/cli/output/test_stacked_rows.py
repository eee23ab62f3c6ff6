"""Tables on a narrow terminal: a line for each cell, no word broken, nothing lost."""

import fcntl
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.cli.output.stacked_rows import INDENT, stacked, wrapped
from tests.data.replicas import damaged, replicas

CONSUMER_OFFSETS = Path(__file__).parents[3] / "data/consumer-offsets/__consumer_offsets-0"

words = st.text("abcdefgh-/.", min_size=1, max_size=30)
texts = st.lists(words, max_size=12).map(" ".join)


@given(texts, st.integers(10, 99))
def test_lines_are_broken_between_words_alone(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert " ".join(lines).split() == text.split()
    assert all(len(line) <= width or len(line.split()) == 1 for line in lines)
    assert all(line.startswith(INDENT) for line in lines[1:])


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=4), st.integers(10, 99))
def test_each_cell_that_has_something_is_a_line_after_its_columns_name(rows: list[tuple[str, str]], width: int) -> None:
    paragraphs: list[list[str]] = [[]]
    for line in stacked(("first", "second"), rows, width):
        if line:
            paragraphs[-1] += line.split()
        else:
            paragraphs.append([])
    named = [[(name, each) for name, each in zip(("first:", "second:"), row, strict=True) if each] for row in rows]
    assert paragraphs == [[word for name, text in cells for word in (name, *text.split())] for cells in named]


def on_terminal(columns: int, *arguments: object) -> str:
    """What a command prints on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {
        **{name: value for name, value in os.environ.items() if name != "COLUMNS"},
        "TERM": "xterm",
        "NO_COLOR": "1",
    }
    command = [sys.executable, "-m", "replication.cli", *map(str, arguments)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, env=environment) as running:
        os.close(theirs)
        told = b""
        while chunk := _read(ours):
            told += chunk
        running.wait(timeout=120)
    os.close(ours)
    return told.decode().replace("\r\n", "\n")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # as Linux says that the other side was closed
        return b""


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies of which one has lost its tail."""
    directory = tmp_path_factory.mktemp("copies")
    damaged("truncated_tail", directory)
    return directory


@pytest.mark.parametrize("columns", [60, 80, 99])
def test_findings_are_stacked_below_100_columns(copies: Path, columns: int) -> None:
    lines = on_terminal(columns, "audit", copies, "--workers", 0).splitlines()
    first = lines.index("Findings") + 1
    assert lines[first : first + 5] == [
        "  severity: error",
        "  replica: broker-3",
        "  partition: codecs-0",
        "  file: replication-offset-checkpoint",
        "  offset: 2370",
    ]
    assert not [line for line in lines if len(line) > columns]
    assert "high watermark 2370 is above the log's end at 2340: committed records are gone from this replica" in (
        " ".join(" ".join(lines).split())
    )


def test_a_table_that_fits_is_drawn_and_one_whose_words_would_be_broken_is_not(copies: Path) -> None:
    told = on_terminal(100, "audit", copies, "--workers", 0)
    assert "┃" in told.partition("Partitions that differ")[2].partition("Findings")[0]
    assert "┃" not in told.partition("Findings")[2], "eight columns"
    assert "┃" in on_terminal(200, "audit", copies, "--workers", 0).partition("Findings")[2]


def test_lines_of_a_wide_terminal_are_broken_between_words_too() -> None:
    lines = on_terminal(110, "audit", replicas("diverged"), "--workers", 0).splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("critical: "))
    assert all(len(line) < 110 for line in lines[first : first + 4])
    assert " ".join(" ".join(lines[first : first + 4]).split()).endswith("or will; keep this copy")


def test_columns_of_single_words_keep_them_whole(tmp_path: Path) -> None:
    copies = shutil.copytree(replicas("diverged"), tmp_path / "copies")
    for broker in ("broker-1", "broker-2"):
        shutil.copytree(CONSUMER_OFFSETS, copies / broker / CONSUMER_OFFSETS.name)
    findings = on_terminal(125, "audit", copies, "--workers", 0).partition("Findings")[2]
    assert "┃" in findings
    assert findings.count(" consumer-offset-beyond-truncation ") == 3


def test_a_narrow_table_is_drawn_on_a_narrow_terminal(copies: Path) -> None:
    assert "┃" in on_terminal(80, "epochs", copies / "broker-1/compacted-0")


def test_lines_of_a_pipe_are_not_broken(copies: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "replication.cli", "audit", str(copies), "--workers", "0"],
        capture_output=True,
        text=True,
        check=False,
    )
    (line,) = [line for line in done.stdout.splitlines() if "high-watermark-beyond-log-end" in line]
    assert line.count("\t") == 7
