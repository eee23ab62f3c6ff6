"""What a process that was killed had not flushed is lost by another one, wherever the kill fell."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from epoch.filesystem import FileSystem
from replication.testing import ForgetfulDisk

NAMES = ("a/0", "a/1", "b/0", "b/1")
SOURCES = f"replication{os.sep}testing{os.sep}"


class Step(NamedTuple):
    """One thing that is done to files, by its name and arguments."""

    name: str
    path: str
    size: int = 0
    target: str = ""


ONE_CALL = ("write", "write", "write", "fsync", "fsync", "empty", "truncate", "rename", "unlink")


def walk(seed: int, count: int, kinds: tuple[str, ...]) -> list[Step]:
    """Return steps that can be done one after the other, from two empty directories on."""
    random, model, steps = Random(seed), Model(), list[Step]()
    while len(steps) < count:
        path, target = random.sample(NAMES, 2)
        name = random.choice(kinds)
        step = Step(name, path, random.randrange(1, 9), target)
        if name in {"write", "empty", "swap"} or path in model.files:
            if name == "truncate":
                step = step._replace(size=random.randrange(len(model.files[path][0]) + 1))
            steps.append(step)
            model.do(step)
    return steps


class Model:
    """What is in the files, and how much of it is safe."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[bytes, int]] = {}

    def do(self, step: Step) -> None:
        content, safe = self.files.get(step.path, (b"", 0))
        if step.name == "write":
            self.files[step.path] = content + bytes([step.size]) * step.size, safe
        elif step.name == "fsync":
            self.files[step.path] = content, len(content)
        elif step.name == "empty":
            self.files[step.path] = b"", 0
        elif step.name == "truncate":
            self.files[step.path] = content[: step.size], min(safe, step.size)
        elif step.name == "rename":
            self.files[step.target] = self.files.pop(step.path)
        elif step.name == "unlink":
            del self.files[step.path]
        else:
            swapped = {"a": "b", "b": "a"}
            self.files = {swapped[path[0]] + path[1:]: file for path, file in self.files.items()}

    def after_loss(self) -> dict[str, bytes]:
        return {path: content[:safe] for path, (content, safe) in self.files.items()}


def apply(disk: FileSystem, root: Path, step: Step) -> None:
    path = root / step.path
    if step.name in {"write", "fsync", "empty"}:
        file = disk.open(path, truncate=step.name == "empty")
        if step.name == "write":
            disk.write(file, bytes([step.size]) * step.size)
        elif step.name == "fsync":
            disk.fsync(file)
        disk.close(file)
    elif step.name == "truncate":
        disk.truncate(path, step.size)
    elif step.name == "rename":
        disk.rename(path, root / step.target)
    elif step.name == "unlink":
        disk.unlink(path)
    else:
        for source, target in (("a", "c"), ("b", "a"), ("c", "b")):
            disk.rename(root / source, root / target)


def killed_child(work: Callable[[int], None], kill_at: int) -> tuple[int, bool]:
    """Do the work in a process that is killed at a bytecode; return how many steps it had ended, and whether it was."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(readable)
        left = kill_at

        def trace(frame: FrameType, event: str, _argument: Any) -> Any:
            nonlocal left
            if SOURCES not in frame.f_code.co_filename or "tests" in frame.f_code.co_filename:
                return None
            frame.f_trace_opcodes = True
            left -= event == "opcode"
            if left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return trace

        try:
            sys.settrace(trace)
            work(writable)
        finally:
            os._exit(0)
    os.close(writable)
    with open(readable, "rb") as told:
        done = len(told.read())
    return done, os.WIFSIGNALED(os.waitpid(child, 0)[1])


def contents(root: Path) -> dict[str, bytes]:
    return {f"{path.parent.name}/{path.name}": path.read_bytes() for path in root.glob("?/?")}


def one_life(root: Path, journal: Path, steps: list[Step], kill_at: int) -> int:
    """Let a process do steps until it is killed; return how many it ended."""

    def work(told: int) -> None:
        disk = ForgetfulDisk(journal)
        for step in steps:
            apply(disk, root, step)
            os.write(told, b".")

    done, killed = killed_child(work, kill_at)
    assert killed or done == len(steps)
    return done


def made_root(directory: Path) -> tuple[Path, Path]:
    """Return a root with two empty directories, and where its journal is."""
    for name in ("a", "b"):
        (directory / "root" / name).mkdir(parents=True)
    return directory / "root", directory / "journal"


@given(st.integers(0, 1 << 32), st.integers(1, 25), st.integers(1, 2_500))
def test_what_was_not_flushed_is_lost_wherever_the_kill_falls(seed: int, count: int, kill_at: int) -> None:
    steps = walk(seed, count, ONE_CALL)
    with TemporaryDirectory() as directory:
        root, journal = made_root(Path(directory))
        done = one_life(root, journal, steps, kill_at)
        ForgetfulDisk(journal).lose()
        assert contents(root) in [expected(steps[:count]) for count in (done, done + 1)]


@given(st.integers(0, 1 << 32), st.integers(1, 25), st.integers(1, 25))
def test_what_two_lives_have_not_flushed_is_lost_together(seed: int, first: int, second: int) -> None:
    steps = walk(seed, first + second, (*ONE_CALL, "swap"))
    with TemporaryDirectory() as directory:
        root, journal = made_root(Path(directory))
        for life in (steps[:first], steps[first:]):
            disk = ForgetfulDisk(journal)
            for step in life:
                apply(disk, root, step)
            disk.close_journal()
        before = sum(map(len, contents(root).values()))
        assert ForgetfulDisk(journal).lose() == before - sum(map(len, contents(root).values()))
        assert contents(root) == expected(steps)
        assert ForgetfulDisk(journal).lose() == 0


def expected(steps: list[Step]) -> dict[str, bytes]:
    model = Model()
    for step in steps:
        model.do(step)
    return model.after_loss()
