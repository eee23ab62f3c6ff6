"""The examples of the documentation: found in a page, run, and compared with the output that stands below them.

`$ command` lines of ```console blocks run in bash, as on a terminal of 100 columns, in a directory where the shipped
replicas are unpacked, beside a copy of `tests/data/quorum`; the lines below them are their output, in which a line of
three dots stands for any lines.
```python blocks of a page run one after another in one namespace, and those of a page in `ALONE` each in a namespace
and an empty directory of its own, as if it alone was copied; a ```text block right below holds what they print.
A block under `<!-- not run: reason -->` is left alone.

`python -m tests.docs.examples` writes the output of all examples anew.
"""

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.data.replicas import ARCHIVES, PROJECT, replicas

PAGES = (PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *sorted((PROJECT / "docs").rglob("*.md")))
DATA = PROJECT / "tests/data"
LANGUAGES = {"console", "python", "text"}
COLUMNS = 100
ALONE = {"embedding.md"}
"""The pages whose Python examples are whole, each by itself."""

_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    language: str
    body: str
    line: int
    start: int
    """Where its body begins in the page's text."""
    end: int
    not_run: str | None

    @property
    def runs(self) -> bool:
        return self.not_run is None and self.language in {"console", "python"}


def blocks_of(page: str) -> list[Block]:
    """All blocks of a page's text, in order."""
    return [
        Block(
            match["language"],
            match["body"],
            page.count("\n", 0, match.start("body")),
            *match.span("body"),
            match["reason"],
        )
        for match in _BLOCK.finditer(page)
    ]


@dataclass(frozen=True)
class Command:
    """One command of a console block, and the output that stands below it."""

    text: str
    output: str

    def __str__(self) -> str:
        return f"$ {self.text}\n{self.output}"


def commands_of(body: str) -> list[Command]:
    """Split a console block; a backslash continues a command on the next line."""
    commands: list[Command] = []
    continues = False
    for line in body.splitlines(keepends=True):
        if continues:
            commands[-1] = replace(commands[-1], text=f"{commands[-1].text}\n{line.rstrip(chr(10))}")
        elif line.startswith("$ "):
            commands.append(Command(line[2:].rstrip("\n"), ""))
        else:
            commands[-1] = replace(commands[-1], output=commands[-1].output + line)
            continue
        continues = line.endswith("\\\n")
    return commands


def matches(expected: str, actual: str) -> bool:
    """Compare outputs without trailing blanks; a line `...` stands for any lines."""
    parts = re.split(r"^\.\.\.\n", _trimmed(expected), flags=re.MULTILINE)
    return re.fullmatch("(?:.*\n)*".join(map(re.escape, parts)), _trimmed(actual)) is not None


def _trimmed(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


@dataclass
class Session:
    """Runs one page's examples in a scratch directory; keeps its shell's directory and status, and Python's names."""

    scratch: Path
    names: dict[str, Any] = field(default_factory=dict)
    status: int = 0
    directory: Path = field(init=False)

    def __post_init__(self) -> None:
        self.directory = self.scratch
        for label in ("diverged", "reconciled"):
            shutil.copytree(replicas(label), self.scratch / label)
        shutil.copytree(DATA / "quorum", self.scratch / "quorum")
        archive = self.scratch / ARCHIVES["diverged"].relative_to(PROJECT)
        archive.parent.mkdir(parents=True)
        archive.symlink_to(ARCHIVES["diverged"])

    def run(self, command: str) -> str:
        """Run one command on a terminal of its own; what it says on standard error comes last."""
        where = self.scratch / ".directory"
        script = f'(exit {self.status})\n{command}\nstatus=$?\npwd > "{where}"\nexit $status'
        terminal, its_end = os.openpty()
        with subprocess.Popen(
            ["bash", "-c", script],
            cwd=self.directory,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=its_end,
            stderr=subprocess.PIPE,
        ) as process:
            os.close(its_end)
            assert process.stderr is not None
            output = b"".join(_read_terminal(terminal)) + process.stderr.read()
        os.close(terminal)
        self.status = process.returncode
        self.directory = Path(where.read_text().strip())
        return _ESCAPES.sub("", output.decode().replace("\r\n", "\n"))

    def begin_anew(self, name: str) -> None:
        """Go to a directory with nothing in it, and forget all names of Python."""
        self.directory = self.scratch / name
        self.directory.mkdir()
        self.names = {}

    def execute(self, code: str, origin: str) -> str:
        """Run a Python block; return what it printed."""
        printed = io.StringIO()
        with chdir(self.directory), patch.dict(os.environ, _environment()), redirect_stdout(printed):
            exec(compile(code, origin, "exec"), self.names)  # noqa: S102  running the examples is the point
        return printed.getvalue()


def _environment() -> dict[str, str]:
    """What examples see: a plain terminal, and the command of this checkout."""
    return os.environ | {
        "COLUMNS": str(COLUMNS),
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TERM": "xterm",
    }


def _read_terminal(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            data = os.read(terminal, 65_536)
        except OSError:  # the other end was closed
            return
        if not data:
            return
        yield data


@dataclass(frozen=True)
class Outcome:
    """What an example printed, and what the page says."""

    line: int
    example: str
    expected: str
    actual: str
    start: int
    """Where in the page's text `expected` stands."""

    def __str__(self) -> str:
        return f"line {self.line}: {self.example}\n--- the page says\n{self.expected}--- it printed\n{self.actual}"


def outcomes(path: Path, scratch: Path) -> Iterator[Outcome]:
    """Run a page's examples, one after another."""
    page = path.read_text()
    blocks = blocks_of(page)
    session = Session(scratch)
    for number, block in enumerate(blocks):
        if not block.runs:
            continue
        if block.language == "console":
            position = block.start
            for command in commands_of(block.body):
                position += len(f"$ {command.text}\n")
                actual = session.run(command.text)
                yield Outcome(block.line, command.text, command.output, actual, position)
                position += len(command.output)
            continue
        following = blocks[number + 1] if number + 1 < len(blocks) else None
        below = following is not None and page[block.end : following.start] == "```\n\n```text\n"
        if path.name in ALONE:
            session.begin_anew(f"line-{block.line}")
        printed = session.execute(block.body, f"{path.name}, line {block.line}")
        shown = following.body if following is not None and below else ""
        start = following.start if following is not None and below else block.end
        yield Outcome(block.line, block.body, shown, printed, start)


def rewrite(path: Path) -> None:
    """Put what the examples print into the page, except where dots stand for it."""
    page = path.read_text()
    with tempfile.TemporaryDirectory() as scratch:
        done = list(outcomes(path, Path(scratch)))
    for outcome in reversed(done):
        if not matches(outcome.expected, outcome.actual):
            end = outcome.start + len(outcome.expected)
            page = page[: outcome.start] + _trimmed(outcome.actual) + page[end:]
    path.write_text(page)


if __name__ == "__main__":
    for each in PAGES:
        rewrite(each)
