"""Whatever is raised in the middle of a call of a mirror: what it has copied stays, and it goes on or says why not."""

import gc
import os
import random
import signal
import sys
from collections import deque
from functools import cache, partial
from pathlib import Path
from shutil import rmtree
from typing import Final

import pytest

import replication
from epoch.errors import InheritedError
from logstore.errors import LogStoreError
from logstore.files.directory_lock import DirectoryLock
from replication.base.back_off import BackOff
from replication.base.errors import ReplicationError
from replication.cluster.fetcher import fetcher_thread
from replication.cluster.fetcher.decisions.fetch_rules import FetchRules
from replication.cluster.fetcher.fetcher_settings import FetcherSettings
from replication.cluster.mirror import mirror as mirror_module
from replication.cluster.mirror.mirror_directory import open_mirror_directory
from tests.campaign import Campaign
from tests.interruption import COMPUTING, RAISED, Bystander, Interrupter, exit_status_of, is_of_interest
from tests.replication.cluster.mirror.mirrored_life import CONFIG, Life
from tests.replication.cluster.mirror.wire_leader import WireLeader

INTERRUPTIONS = Campaign("interrupted calls of a mirror", full=4_000, share=60)
SECONDS = 120
"""What counts as hanging."""

pytestmark = pytest.mark.usefixtures("alarmed")
CALLS_OF_A_LIFE = 60
FORK = "fork"
LEAVING = ("close", "leave a with block")
PACKAGES: Final = tuple(
    f"{Path(replication.__file__).parent / name}"
    for name in (
        f"cluster/mirror{os.sep}",
        f"cluster/fetcher{os.sep}",
        "cluster/worker_thread.py",
        "wire/client/cluster_client.py",
        "wire/client/connection.py",
    )
)
ONLY_COMPUTES: Final = COMPUTING | {
    "actions.py",
    "events.py",
    "fetch_rules.py",
    "fetch_state.py",
    "fetched_batches.py",
    "fetcher_settings.py",
    "following.py",
    "leader_changes.py",
    "log_state.py",
    "throttle.py",
}


@cache
def is_of_the_mirror(filename: str) -> bool:
    """Whether a file's bytecodes count: those of the mirror, its fetchers and its connections."""
    return filename.startswith(PACKAGES) and Path(filename).name not in ONLY_COMPUTES


def is_of_the_mirror_or_its_logs(filename: str) -> bool:
    return is_of_the_mirror(filename) or is_of_interest(filename)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let mirrors wait for milliseconds where they would wait for a second, and roll early."""
    quick = FetcherSettings(rules=FetchRules(truncate_on_fetch=False, back_off_ms=1), max_wait_ms=2)
    monkeypatch.setattr(mirror_module, "FetcherSettings", lambda **_: quick)
    monkeypatch.setattr(mirror_module, "open_mirror_directory", partial(open_mirror_directory, config=CONFIG))
    monkeypatch.setattr(fetcher_thread, "BackOff", partial(BackOff, 1, 2))


class Interruptions:
    """A life of a mirror whose calls are broken off."""

    def __init__(self, life: Life, bystander: Bystander, points: dict[tuple[str, bool], int]) -> None:
        self.life, self.rng, self.bystander, self.points = life, life.rng, bystander, points
        self.interrupter = Interrupter()
        self.done = 0
        self.reopened = 0
        self.may_lose_files = False
        """Whether something was raised in the log store, where it may be just as a file was opened."""
        self.story: deque[str] = deque(maxlen=12)

    def live(self) -> None:
        """Make some calls; in the end the mirror must be its leader's copy."""
        life = self.life
        for _ in range(CALLS_OF_A_LIFE):
            calls = life.calls()
            [name] = self.rng.choices(list(calls), [weight for _, weight in calls.values()])
            if name == "open" and self.rng.random() < 0.6:
                life.open()
                continue
            kind = FORK if self.rng.random() < 0.04 else self.rng.choice(list(RAISED))
            try:
                # No more of what was raised is left by then, and of what its frames hold.
                self.settle(name, is_done=self.interrupt(name, kind))
                if self.rng.random() < 0.4:
                    life.happen()
            except BaseException as error:
                error.add_note("\n".join([*self.story, f"{name}: {kind} {self.interrupter.place or 'nowhere'}"]))
                raise
            self.story.append(f"{name}: {kind} {self.interrupter.place or 'nowhere'}")
        self.be_alarmed()
        if life.mirror is None:
            life.open()
        life.catch_up()
        life.check()
        self.leave()
        life.verify()

    def be_alarmed(self) -> None:
        signal.alarm(SECONDS)

    def interrupt(self, name: str, kind: str) -> bool:
        """Make a call with something raised in the middle of it; return whether it came to its end."""
        self.be_alarmed()
        life = self.life
        everywhere = self.rng.random() < 0.3
        self.interrupter = Interrupter(is_of_the_mirror_or_its_logs if everywhere else is_of_the_mirror)
        key = name, everywhere
        # The first time it is only counted what there is to pass.
        at = self.rng.randrange(self.points[key] + 1) if key in self.points else sys.maxsize
        error = RAISED[kind]() if kind != FORK else None
        do = partial(self.fail, error) if error is not None else self.fork
        call, _ = life.calls()[name]
        caught: BaseException | None = None
        with self.interrupter.between_bytecodes(at, do):
            try:
                call()
            except BaseException as caught_error:  # noqa: BLE001  looked at below
                caught = caught_error
        self.points[key] = max(self.points.get(key, 0), self.interrupter.passed)
        self.done += bool(self.interrupter.place)
        self.may_lose_files |= bool(self.interrupter.place) and everywhere
        assert signal.alarm(SECONDS) > 0, "it hung, and what ended that was swallowed"
        self.judge(error if self.interrupter.place else None, caught)
        return caught is None

    def judge(self, raised: BaseException | None, caught: BaseException | None) -> None:
        """What is raised comes out, unless it is one that the mirror gets over by itself."""
        if raised is None:
            assert caught is None, f"nothing was raised, but {caught!r} came"
        elif not isinstance(raised, Exception):
            # Interpreters swallow what is raised as they drop an object.
            is_dropping = any(name in self.interrupter.place for name in ("<lambda>", "__del__"))
            assert caught is raised or (caught is None and is_dropping), repr(caught)
        elif caught is not None and caught is not raised:
            assert isinstance(caught, (OSError, MemoryError, LogStoreError, ReplicationError)), repr(caught)

    def settle(self, name: str, *, is_done: bool) -> None:
        """Go on as a program would."""
        life = self.life
        if name == "open" and not is_done:
            self.ensure_nothing_is_left()
            return
        if name in LEAVING:
            self.leave()
            return
        answer = self.bystander.ask(life.look, SECONDS) if life.is_usable else None
        assert answer is None, answer
        if life.driven:
            # Otherwise its threads go on meanwhile.
            life.check()
        if not life.is_usable:
            self.reopened += 1
            self.leave()
        elif self.rng.random() < 0.3:
            answer = self.bystander.ask(life.catch_up, SECONDS)
            assert answer is None, answer
            life.check()

    def leave(self) -> None:
        """Close the mirror, whose closing may have been broken off before: then nothing is open any more."""
        self.life.opened.close()
        self.life.mirror = None
        self.ensure_nothing_is_left()

    def ensure_nothing_is_left(self) -> None:
        left = self.life.left_behind()
        if left:
            gc.collect()
            left = self.life.left_behind()
        if self.may_lose_files:
            left = [each for each in left if not self.life.is_file(each)]
        assert left == []
        DirectoryLock.ensure_free(self.life.copy)

    def fail(self, error: BaseException) -> None:
        raise error

    def fork(self) -> None:
        status = exit_status_of(self.be_refused, refused=InheritedError, seconds=SECONDS // 2)
        assert status == 7, f"the child came to {status}"

    def be_refused(self) -> None:
        """Do in a child what must do nothing; then all that must be refused."""
        mirror = self.life.mirror
        if mirror is None:
            raise InheritedError("there is none yet")
        mirror.close()
        for refused in (mirror.look_after, mirror.statuses, mirror.has_caught_up, mirror.has_nothing_left):
            with pytest.raises(InheritedError):
                refused()
        mirror.look_after()


# A file that is opened as something is raised is closed by the interpreter, which says so.
@pytest.mark.filterwarnings("ignore:Exception ignored.*:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.usefixtures("impatient")
def test_what_is_copied_stays_and_the_mirror_goes_on_or_says_why_not(
    memory_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(INTERRUPTIONS.seed)
    points: dict[tuple[str, bool], int] = {}
    done = reopened = lives = 0
    with Bystander() as bystander:
        while done < INTERRUPTIONS.count:
            seed = rng.randrange(2**32)
            root = memory_dir / str(seed)
            root.mkdir()
            driven = lives % 4 > 0
            with WireLeader() as leader, monkeypatch.context() as patched:
                if driven:
                    # Their work is done in this thread.
                    patched.setattr(fetcher_thread.FetcherThread, "start", lambda _: None)
                    patched.setattr("replication.cluster.fetcher.leader_tracker.LeaderTracker.start", lambda _: None)
                interruptions = Interruptions(Life(root, random.Random(seed), leader, driven=driven), bystander, points)
                try:
                    interruptions.live()
                except BaseException as error:
                    error.add_note(f"life {seed}, {driven=}, after {done} and {interruptions.done} interruptions")
                    raise
            done += interruptions.done
            reopened += interruptions.reopened
            lives += 1
            rmtree(root)
    INTERRUPTIONS.report(done, f"{lives} lives, opened again after {reopened:,}")
