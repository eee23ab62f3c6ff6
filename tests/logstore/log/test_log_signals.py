"""Real signals, whose handler raises, at random moments of random calls: what Ctrl-C and timeouts do to a program."""

import gc
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from types import FrameType

import pytest

from tests.campaign import Campaign
from tests.interruption import Bystander, Interruption
from tests.logstore.interrupted_life import Call
from tests.logstore.log.test_log_interruptions import CALLS_OF_A_LIFE, SECONDS, Interruptions

SIGNALS = Campaign("handled signals during calls of a log", full=1_000, share=150)
LONGEST_SECONDS = 0.001
"""Calls take about as long."""


class Signals(Interruptions):
    """A life whose calls are interrupted by a timer."""

    is_armed = False
    raised: Interruption | None = None

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Raise in the middle of a call, and nowhere else."""
        del number, frame
        if self.raised is not None:
            raise TimeoutError("a call hangs that was interrupted")
        if self.is_armed:
            self.done += 1
            self.raised = Interruption()
            raise self.raised

    def interrupt(self, call: Call, kind: str) -> None:
        """Make a call while a timer runs; see what it has left."""
        del kind
        caught: BaseException | None = None
        self.raised = None
        signal.setitimer(signal.ITIMER_REAL, self.rng.uniform(1e-6, LONGEST_SECONDS), SECONDS)
        try:
            self.is_armed = True
            call.do()
            self.is_armed = False
        except BaseException as error:  # noqa: BLE001  looked at below
            self.is_armed = False
            caught = error
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.judge(call, self.raised, caught)


@pytest.fixture(autouse=True)
def _timer() -> Iterator[None]:
    before = signal.getsignal(signal.SIGALRM)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.filterwarnings("ignore:Exception ignored.*:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_signal_whose_handler_raises_loses_nothing(memory_dir: Path) -> None:
    root = memory_dir / "signals"
    rng = random.Random(SIGNALS.seed)
    done = poisoned = 0
    with Bystander() as bystander:
        while done < SIGNALS.count:
            root.mkdir()
            signals = Signals(root, random.Random(rng.randrange(2**32)), bystander, {})
            signal.signal(signal.SIGALRM, signals.handle)
            # Compiling leaves objects behind whose end takes a lock of llvmlite's: an exception would leave it taken.
            gc.collect()
            signals.live(CALLS_OF_A_LIFE)
            done += signals.done
            poisoned += signals.poisoned
            rmtree(root)
    SIGNALS.report(done, f"poisoned by {poisoned}")
