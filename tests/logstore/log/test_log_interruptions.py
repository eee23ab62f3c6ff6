"""Whatever is raised between any two steps of any call: nothing acknowledged is lost or changed, and nothing hangs.

A log is used at random. In the middle of each call, between two of its bytecodes or beside a step of the disk,
something is raised or the process is forked. The log then holds what it held before or what the call was to make of
it, or says that it is poisoned and is recovered. The same log lives on, is reopened now and then, and verified.
"""

import random
import signal
from collections import deque
from dataclasses import replace
from functools import partial
from pathlib import Path
from shutil import rmtree

import pytest

from epoch.errors import InheritedError
from logstore.errors import LogClosedError, LogPoisonedError
from tests.campaign import Campaign
from tests.interruption import RAISED, Bystander, Interrupter, exit_status_of
from tests.logstore.directories import GAPS, assert_sound
from tests.logstore.interrupted_life import CONFIG, Call, Content, Life
from tests.logstore.late_syncs import late_syncs
from tests.logstore.log.test_log_crash_states import check_epochs

INTERRUPTIONS = Campaign("interrupted calls of a log", full=90_000, share=800)
SECONDS = 120

pytestmark = pytest.mark.usefixtures("alarmed")
"""What counts as hanging."""
CALLS_OF_A_LIFE = 150
CONFIGS = (CONFIG, replace(CONFIG, index_interval_bytes=0, flush_messages=4), replace(CONFIG, retention_bytes=4_000))
FORK = "fork"


class Interruptions:
    """A life whose calls are interrupted."""

    def __init__(
        self, root: Path, rng: random.Random, bystander: Bystander, points: dict[tuple[str, bool], int]
    ) -> None:
        self.rng = rng
        self.bystander = bystander
        self.points = points
        """How many points each call was seen to pass, between bytecodes or beside steps."""
        self.interrupter = Interrupter()
        self.life = Life(root / "t-0", rng, self.interrupter, rng.choice(CONFIGS))
        self.done = 0
        self.poisoned = 0
        self.story: deque[str] = deque(maxlen=12)
        """What was done last."""

    def live(self, calls: int) -> None:
        """Make so many calls."""
        for _ in range(calls):
            signal.alarm(SECONDS)
            call = self.life.next_call()
            kind = FORK if self.rng.random() < 0.02 else self.rng.choice(list(RAISED))
            try:
                self.interrupt(call, kind)
            except BaseException as error:
                error.add_note("\n".join([*self.story, f"{call.name}: {kind} {self.interrupter.place or 'nowhere'}"]))
                raise
            log = self.life.log
            self.story.append(
                f"{call.name}: {kind} {self.interrupter.place or 'nowhere'}; {log!r} {len(self.life.content)}"
            )
        self.life.log.close()
        assert_sound(self.life.directory, self.life.log.log_start_offset, expected=GAPS)

    def interrupt(self, call: Call, kind: str) -> None:
        """Make a call with something raised in the middle of it; see what it has left."""
        signal.alarm(SECONDS)
        beside = self.rng.random() < 0.3
        key = call.name, beside
        at = self.rng.randrange(self.points.get(key, 0) + 1)
        within = self.interrupter.beside_steps if beside else self.interrupter.between_bytecodes
        error = RAISED[kind]() if kind != FORK else None
        caught: BaseException | None = None
        log, content, epochs = self.life.log, self.life.content, self.life.log.epochs.entries
        with within(at, self._fork if error is None else partial(self._raise, error)):
            try:
                call.do()
            except BaseException as caught_error:  # noqa: BLE001  looked at below
                caught = caught_error
        self.points[key] = max(self.points.get(key, 0), self.interrupter.passed)
        self.done += bool(self.interrupter.place)
        self.judge(call, error if self.interrupter.place else None, caught)
        if len(call.after) > len(content) and self.life.content == content and self.life.log is log:
            # Those of leaders that have written nothing too, which lie beyond what can be read.
            assert log.epochs.entries == epochs, "an append that has not happened has left its epoch behind"

    def judge(self, call: Call, raised: BaseException | None, caught: BaseException | None) -> None:
        """Compare the log with what the call may have left."""
        assert caught is None or raised is not None, f"nothing was raised, but {caught!r} came"
        life = self.life
        if caught is not None and caught is not raised:
            assert isinstance(caught, (OSError, MemoryError)), f"{raised!r} became {caught!r}"
        if call.name in {"close", "leave a with block", "open", "recover"}:
            self._open_again(call.name)
        else:
            allowed = [call.after] if caught is None else [life.content, call.after]
            if life.log.failure is not None:
                assert call.may_poison or isinstance(raised, OSError), (
                    f"it need not have been poisoned by {life.log.failure!r}"
                )
                assert caught is not None
                self._ensure_refused()
                self.poisoned += 1
                life.log = life.log.recover()
                if call.may_stop_between:
                    allowed += self._between(life.content, call.after)
            self._know(allowed)
        self._check()

    def _know(self, allowed: list[Content]) -> None:
        found = self.life.found()
        assert found in allowed, f"{len(found)} batches, and not {[len(each) for each in allowed]}"
        self.life.know(found)

    def _between(self, before: Content, after: Content) -> list[Content]:
        return [before[:kept] for kept in range(len(after), len(before))]

    def _open_again(self, name: str) -> None:
        life = self.life
        if name == "close" and life.log.failure is None and self.rng.random() < 0.5:
            life.log.close()
        life.log.abandon()
        life.log = life.open()
        self._know([life.content])

    def _check(self) -> None:
        """No lock is held, the epochs are those of the batches, and the ends are where they should be."""
        life = self.life
        answer = self.bystander.ask(self._look, SECONDS)
        assert answer == life.content, answer
        if life.start == 0 and life.log.log_start_offset == 0:
            check_epochs(life.log, life.content)

    def _look(self) -> Content:
        self.life.log.expire_producers()
        self.life.log.offset_for_timestamp(0)
        return self.life.found()

    def _ensure_refused(self) -> None:
        log = self.life.log
        for refused in (log.flush, log.roll, lambda: log.append(b"", leader_epoch=0), lambda: log.append_batches(b"")):
            with pytest.raises(LogPoisonedError, match="open the log again"):
                refused()

    def _raise(self, error: BaseException) -> None:
        raise error

    def _fork(self) -> None:
        """Fork, in this thread or in another, in the middle of a call of this one."""
        # Another thread waits with it while somebody takes a lock or lets go of it.
        in_this = self.rng.random() < 0.5 or "directory_lock" in self.interrupter.place
        status = self._status_of_child() if in_this else self.bystander.ask(self._status_of_child, SECONDS)
        assert status == 7, f"the child came to {status}"

    def _status_of_child(self) -> int:
        return exit_status_of(self._be_refused, refused=LogClosedError, seconds=SECONDS // 2)

    def _be_refused(self) -> None:
        """Do in a child what must do nothing; then all that must be refused."""
        log = self.life.log
        log.close()
        log.abandon()
        for refused in (
            lambda: log.append(b"", leader_epoch=0),
            lambda: log.read(0, 100),
            lambda: log.truncate_to(0),
            log.flush,
        ):
            with pytest.raises(LogClosedError):
                refused()
        with pytest.raises(InheritedError):
            log.epochs.assign(99, 99)
        raise LogClosedError("all was refused")


# A file that is opened as something is raised is closed by the interpreter, which says so.
@pytest.mark.filterwarnings("ignore:Exception ignored.*:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_nothing_acknowledged_is_lost_or_changed_and_nothing_hangs(memory_dir: Path) -> None:
    root = memory_dir / "interrupted"
    rng = random.Random(INTERRUPTIONS.seed)
    points: dict[tuple[str, bool], int] = {}
    done = poisoned = lives = 0
    with Bystander() as bystander:
        while done < INTERRUPTIONS.count:
            root.mkdir()
            seed = rng.randrange(2**32)
            interruptions = Interruptions(root, random.Random(seed), bystander, points)
            try:
                with late_syncs(are_late=bool(lives % 2)):
                    interruptions.live(CALLS_OF_A_LIFE)
            except BaseException as error:
                error.add_note(f"life {seed}, after {interruptions.done} interruptions")
                raise
            done += interruptions.done
            poisoned += interruptions.poisoned
            lives += 1
            rmtree(root)
    INTERRUPTIONS.report(done, f"{lives} lives, poisoned by {poisoned:,}")
