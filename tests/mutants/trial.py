"""Runs tests on the code with one fault, in a process of its own that is forked once everything is imported."""

import os
import resource
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from faulthandler import dump_traceback_later
from pathlib import Path
from select import select
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Final

import pytest

from tests.mutants.mutant import Mutant, put_in_place
from tests.mutants.reach import Choice, Watch

OPTIONS: Final = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile=mutants")
MOST_MEMORY: Final = 4 << 30
"""A fault may ask for memory without end."""
LAST_SECONDS: Final = 5.0
"""Before tests of sound code are ended that take too long: they say where they are."""


class Outcome(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    LISTED = "listed"
    TIMED_OUT = "timed out"


@dataclass(frozen=True)
class Trial:
    """Files of tests to run on a mutant, or some of their tests; without a mutant, they must pass."""

    files: tuple[str, ...]
    seconds: float
    """The most that they may take."""
    mutant: Mutant | None = None
    tests: tuple[str, ...] | None = None
    """Node ids, in the order in which they run; None for all tests of the files."""
    watched: tuple[str, ...] = ()
    """Sources whose functions are watched, and the tests that reach them written to `notes`."""
    notes: Path | None = None


def collect(tests: Iterable[str]) -> None:
    """Import all tests, with what they test."""
    if pytest.main([*OPTIONS, "--collect-only", "-qq", *tests]):
        raise SystemExit("the tests cannot be collected")


def outcomes(trials: Iterable[Trial], workers: int) -> Iterator[tuple[Trial, Outcome, float]]:
    """Run trials, several at a time, and give each as it ends, with the seconds that it took."""
    running: dict[int, tuple[Trial, int, float]] = {}
    waiting = iter(trials)
    while True:
        while len(running) < workers and (trial := next(waiting, None)) is not None:
            pid = _start(trial)
            running[os.pidfd_open(pid)] = trial, pid, monotonic()
        if not running:
            return
        ended = select(list(running), [], [], 0.2)[0]
        for handle, (trial, pid, started) in list(running.items()):
            took = monotonic() - started
            if handle not in ended and took < trial.seconds:
                continue
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)  # with all that the tests have started
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            os.close(handle)
            del running[handle]
            if status == pytest.ExitCode.NO_TESTS_COLLECTED:
                raise SystemExit(f"none of the tests in {', '.join(trial.files)} could be chosen")
            outcome = Outcome.KILLED if status else Outcome.SURVIVED
            yield trial, outcome if handle in ended else Outcome.TIMED_OUT, took


def _start(trial: Trial) -> int:
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setpgid(0, 0)
            status = _run(trial)
        finally:
            os._exit(status)
    with suppress(PermissionError, ProcessLookupError):
        os.setpgid(pid, pid)
    return pid


def _run(trial: Trial) -> int:
    if trial.tests is not None and not trial.tests:
        return 0  # no test notices
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    with TemporaryDirectory() as place, (Path(place) / "output").open("w+") as output:
        terminal = os.dup(1)
        for stream in (1, 2):
            os.dup2(output.fileno(), stream)
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = place
        if trial.mutant is not None:
            put_in_place(trial.mutant.file, [trial.mutant.code])
        plugins: list[object] = [] if trial.tests is None else [Choice(trial.tests)]
        if trial.notes is not None:
            plugins.append(Watch(trial.watched, trial.notes))
            dump_traceback_later(trial.seconds - LAST_SECONDS, file=terminal)
        sys.stdout.flush()
        status = int(pytest.main([*OPTIONS, f"--basetemp={place}/tests", *trial.files], plugins))
        if status and trial.notes is not None:
            sys.stdout.flush()
            output.seek(0)
            os.write(terminal, output.read().encode())  # why tests fail of sound code has to be told
        return status
