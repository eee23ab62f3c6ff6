"""Whatever is raised in the middle of a change: memory holds the history of before or after, and the file follows."""

import random
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from epoch import EpochEntry, EpochHistory, LeaderEpochFileCache
from epoch.errors import InheritedError
from tests.campaign import Campaign
from tests.interruption import RAISED, Bystander, InterruptedDisk, Interrupter, exit_status_of

INTERRUPTIONS = Campaign("interrupted calls of the epoch cache", full=6_000, share=300)
SECONDS = 120

pytestmark = pytest.mark.usefixtures("alarmed")


def calls(cache: LeaderEpochFileCache, rng: random.Random) -> tuple[Callable[[], object], EpochHistory]:
    """Choose a call, and say what the history is after it."""
    history = cache.history
    epoch = (history.latest_epoch or 0) + 1
    offset = (history.latest.start_offset if history.latest else 0) + rng.randrange(10)
    entries = [(epoch, offset), (epoch + 2, offset + 5)]
    chosen = rng.choice(
        ["assign", "assign", "many", "end", "start", "flush", "clear" if len(history) > 8 else "assign"]
    )
    middle = rng.choice(history.entries or [EpochEntry(0, 3)]).start_offset
    made: dict[str, tuple[Callable[[], object], EpochHistory]] = {
        "assign": (partial(cache.assign, epoch, offset), history.assign(epoch, offset)),
        "many": (partial(cache.assign_many, entries), history.assign_many(entries)),
        "end": (partial(cache.truncate_to, middle), history.truncate_to(middle)),
        "start": (partial(cache.truncate_from_start, middle), history.truncate_from_start(middle)),
        "flush": (cache.flush, history),
        "clear": (cache.clear_and_flush, EpochHistory()),
    }
    return made[chosen]


def fail(error: BaseException) -> None:
    raise error


def fork(cache: LeaderEpochFileCache) -> None:
    status = exit_status_of(cache.flush, refused=InheritedError, seconds=SECONDS // 2)
    assert status == 7, f"the child came to {status}"


def test_memory_and_file_agree_whatever_is_raised(quick_dir: Path) -> None:
    rng = random.Random(INTERRUPTIONS.seed)
    interrupter = Interrupter()
    cache = LeaderEpochFileCache.open(quick_dir, InterruptedDisk(interrupter))
    done = most = 0
    with Bystander() as bystander:
        while done < INTERRUPTIONS.count:
            signal.alarm(SECONDS)
            before = cache.entries
            call, after = calls(cache, rng)
            error = None if rng.random() < 0.03 else RAISED[rng.choice(list(RAISED))]()
            within = interrupter.beside_steps if rng.random() < 0.3 else interrupter.between_bytecodes
            caught: BaseException | None = None
            with within(rng.randrange(most + 1), partial(fail, error) if error else partial(fork, cache)):
                try:
                    call()
                except BaseException as raised:  # noqa: BLE001  looked at below
                    caught = raised
            most = max(most, interrupter.passed)
            done += bool(interrupter.place)
            # What has run out is told with the name of its limit.
            assert caught in {None, error} or getattr(caught, "errno", None) == getattr(error, "errno", 0)
            assert cache.entries in ([after.entries] if caught is None else [before, after.entries])
            # In another thread: no lock is held.
            assert bystander.ask(cache.flush, SECONDS) is None
            assert LeaderEpochFileCache.open(quick_dir).entries == cache.entries
    INTERRUPTIONS.report(done)
