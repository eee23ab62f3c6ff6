"""At whatever step a crash falls, and whatever it leaves: what was not acknowledged comes again, and nothing else.

Every step that the owner of a queue does on the disk is noted; `tests/crash_states.py` makes of them all that a power
loss may leave, and the queue is opened on each.
"""

import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from epoch.filesystem import REAL, FileSystem
from logstore.append.append_info import AppendInfo
from logstore.log_config import LogConfig
from logstore.queue.queue_directory import LOG_NAME
from logstore.queue.queue_log import QueueLog, Token
from tests.campaign import Campaign
from tests.crash_states import State, crash_states, write_state
from tests.logstore.directories import assert_sound
from tests.recording_disk import RecordingDisk

STATES = Campaign("crash states of a work queue", full=30_000, share=300)
STRIDE = 29
STEPS = 80
"""A share looks at one state of so many."""
NOW = 1_700_000_000_000
FAR = NOW + 10**9
CONFIG = LogConfig(segment_bytes=600, max_message_bytes=600, index_interval_bytes=200, file_delete_delay_ms=0)
QUEUE = "queue"


@dataclass(frozen=True)
class Promise:
    """What was confirmed, and what was asked for and may have happened."""

    put: dict[int, bytes] = field(default_factory=dict)
    finished: frozenset[int] = frozenset()
    maybe_finished: frozenset[int] = frozenset()
    given: frozenset[int] = frozenset()


class BusyQueue(QueueLog):
    """Lets somebody else use the queue before it waits for the disk."""

    meanwhile: Callable[[], object] | None = None

    def _settle(self, info: AppendInfo, behind: int) -> None:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        super()._settle(info, behind)


@dataclass
class QueueLife:
    """An owner that does this and that."""

    root: Path
    rng: random.Random
    asked: set[bytes] = field(default_factory=set)
    promise: Promise = field(default_factory=Promise)
    now: int = NOW

    def __post_init__(self) -> None:
        self.disk = RecordingDisk()
        self.disk.mkdir(self.root / QUEUE)
        self.queue = self.open(self.root / QUEUE, self.disk)
        self.taken: list[Token] = []

    def open(self, directory: Path, disk: FileSystem = REAL, now: int | None = None) -> BusyQueue:
        return BusyQueue(directory, CONFIG, disk, lambda: now or self.now)

    def live(self, steps: int) -> None:
        often = [self.put, self.put, self.take, self.finish, self.finish]
        seldom = [self.release, self.extend, self.end_dead, self.wait, self.open_again]
        for _ in range(steps):
            self.rng.choice(often if self.rng.random() < 0.8 else seldom)()
        self.queue.close()

    def promised(self, **changed: object) -> None:
        self.promise = replace(self.promise, **changed)  # type: ignore[arg-type]
        self.disk.tell(self.promise)

    def put(self) -> None:
        rng = self.rng
        values = [b"%d " % (len(self.asked) + number) + rng.randbytes(rng.randrange(80)) for number in range(3)]
        values = values[: rng.randrange(1, 4)]
        self.asked |= {*values}
        if rng.random() < 0.3:
            self.queue.meanwhile = self.take  # not what is put just now
        ids = self.queue.put(values, rng.choice([0, 0, 9]), rng.choice([0, 0, 50]))
        self.promised(put=self.promise.put | dict(zip(ids, values, strict=True)))

    def take(self) -> None:
        given = self.queue.take(self.rng.randrange(2, 6), self.rng.choice([20, 100_000]), self.rng.choice([1, 3]))
        self.taken += [each[:2] for each in given]
        self.promised(given=self.promise.given | {each.item for each in given})

    def some_taken(self) -> list[Token]:
        latest = self.taken[-8:]
        return self.rng.sample(latest, min(len(latest), self.rng.randrange(1, 5)))

    def finish(self) -> None:
        tokens = self.some_taken()
        ids = {item for item, _ in tokens}
        self.promised(maybe_finished=self.promise.maybe_finished | ids)
        told = self.queue.finish(tokens)
        done = {item for (item, _), is_done in zip(tokens, told, strict=True) if is_done}
        self.promised(
            maybe_finished=self.promise.maybe_finished - ids,
            finished=self.promise.finished | done,
        )

    def release(self) -> None:
        self.queue.release(self.some_taken(), self.rng.choice([0, 50]))

    def extend(self) -> None:
        self.queue.extend(self.some_taken(), self.rng.choice([0, 50]))

    def end_dead(self) -> None:
        dead = [each.item for each in self.queue.dead(3)]
        if self.rng.random() < 0.5:
            self.queue.revive(dead)
            return
        self.promised(maybe_finished=self.promise.maybe_finished | {*dead})
        self.queue.discard(dead)
        self.promised(maybe_finished=self.promise.maybe_finished - {*dead}, finished=self.promise.finished | {*dead})

    def wait(self) -> None:
        self.now += self.rng.choice([10, 60])

    def open_again(self) -> None:
        (self.queue.close if self.rng.random() < 0.5 else self.queue.abandon)()
        self.queue = self.open(self.root / QUEUE, self.disk)


def check(directory: Path, life: QueueLife, promise: Promise) -> None:
    """Open what a crash left, and do all that is left to be done."""
    queue = life.open(directory, now=FAR)
    given = queue.take(1_000, 0, 1_000) + queue.dead(1_000)
    found = {each.item: each.value for each in given}
    assert len(found) == len(given), "an item is given out twice at once"
    assert not found.keys() & promise.finished, "an acknowledged item comes again"
    begun = promise.finished | promise.maybe_finished
    missing = {item: value for item, value in promise.put.items() if item not in begun and found.get(item) != value}
    assert not missing, "an item is lost"
    assert {*found.values()} <= life.asked
    assert len({*found.values()}) == len(found), "an item is there twice"
    for item in found.keys() & promise.put.keys():
        assert found[item] == promise.put[item]
    [new] = queue.put([b"after the crash"])
    assert new not in promise.given | promise.put.keys(), "two items have the same id"
    queue.revive([*found])
    left = queue.take(1_000, 0, 1_000)
    assert all(queue.finish([each[:2] for each in left]))
    queue.abandon()
    queue = life.open(directory, now=FAR)
    assert sum(queue.counts()) == 0
    start = queue._log.log_start_offset
    queue.close()
    assert_sound(directory / LOG_NAME, start)


def lives(root: Path, count: int) -> Iterator[QueueLife]:
    for number in range(count):
        (root / str(number)).mkdir(parents=True)
        life = QueueLife(root / str(number), random.Random(STATES.seed * 1_000 + number))
        life.live(STEPS)
        yield life


def states(root: Path) -> Iterator[tuple[QueueLife, Promise, State]]:
    """All states of as many lives as it takes; a share of them otherwise."""
    stride = 1 if STATES.count == STATES.full else STRIDE
    number = 0
    for life in lives(root, 1_000):
        for told, state in crash_states(life.disk.steps, life.root):
            number += 1
            if (number + STATES.seed) % stride == 0 and Path(QUEUE) in state:
                yield life, told if isinstance(told, Promise) else Promise(), state


def test_what_was_not_acknowledged_comes_again_and_nothing_else_wherever_a_crash_falls(memory_dir: Path) -> None:
    checked = 0
    place = memory_dir / "crashed"
    for life, promise, state in states(memory_dir / "lives"):
        place.mkdir()
        write_state(state, place)
        try:
            check(place / QUEUE, life, promise)
        except BaseException as error:
            error.add_note(f"seed {STATES.seed}, life {life.root.name}, {promise}, {sorted(map(str, state))}")
            raise
        shutil.rmtree(place)
        checked += 1
        if checked == STATES.count:
            break
    STATES.report(checked)
