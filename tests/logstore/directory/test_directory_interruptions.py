"""Whatever is raised in the middle of a call of a directory of logs: no partition and no record is lost."""

import os
import random
import signal
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from shutil import rmtree
from uuid import UUID

import pytest

from logstore.batch.record import Record
from logstore.directory.log_directory import LogDirectory
from logstore.errors import DirectoryLockedError
from logstore.log.log import Log
from logstore.topic_partition import TopicPartition
from tests.campaign import Campaign
from tests.interruption import RAISED, Bystander, InterruptedDisk, Interrupter, exit_status_of
from tests.logstore.interrupted_life import CONFIG, NOW

INTERRUPTIONS = Campaign("interrupted calls of a directory of logs", full=6_000, share=150)
SECONDS = 120

pytestmark = pytest.mark.usefixtures("alarmed")
CALLS_OF_A_LIFE = 80


class Life:
    """A root in use, and all that it holds."""

    def __init__(self, root: Path, rng: random.Random, interrupter: Interrupter) -> None:
        self.root = root
        self.rng = rng
        self.disk = InterruptedDisk(interrupter)
        self.partitions: dict[TopicPartition, list[bytes]] = {}
        self.unsure: set[TopicPartition] = set()
        """Those whose making or deletion was broken off."""
        self.made = 0
        self.now = NOW
        self.directory = self.open()

    def open(self) -> LogDirectory:
        """Open the root as it is on disk."""
        return LogDirectory.open(self.root, CONFIG, filesystem=self.disk, clock=lambda: self.now)

    def reopen(self) -> None:
        """Open what may have been left open."""
        self.directory = self.open()

    def next_call(self) -> tuple[str, Callable[[], object], TopicPartition | None]:
        """Choose what to do, and tell which partition it is about."""
        self.now += 7_000
        some = self.rng.choice(list(self.partitions)) if self.partitions else None
        if some is None or (len(self.partitions) < 4 and self.rng.random() < 0.3):
            self.made += 1
            made = TopicPartition("t", self.made)
            return "create", partial(self.directory.create, made), made
        calls: dict[str, Callable[[], object]] = {
            "delete": partial(self.directory.delete, some),
            "checkpoint": self.directory.checkpoint,
            "checkpoint_high_watermarks": self.directory.checkpoint_high_watermarks,
            "run_periodic": self.directory.run_periodic,
            "recover": partial(self.directory.recover, some),
            "close": self.directory.close,
        }
        name = self.rng.choice(list(calls))
        return name, calls[name], some

    def append(self) -> None:
        """Let every log grow."""
        for partition, values in self.partitions.items():
            value = b"%d of %s" % (len(values), str(partition).encode())
            self.directory.log(partition).append([Record.of(value, timestamp=NOW)])
            values.append(value)

    def compare(self) -> None:
        """Every partition holds what it held; only one whose call was broken off may be there or not."""
        found = {partition: values_of(log) for partition, log in self.directory.partitions.items()}
        assert not self.directory.unreadable
        for partition in self.unsure:
            if partition not in found:
                self.partitions.pop(partition, None)
            else:
                self.partitions.setdefault(partition, [])
        self.unsure.clear()
        assert found == self.partitions

    def start_again(self) -> None:
        """Leave the directory as a program that ends, and open it."""
        self.directory.abandon()
        self.directory = self.open()


def values_of(log: Log) -> list[bytes]:
    """All records of a log."""
    found: list[bytes] = []
    while len(found) < log.log_end_offset:
        found += [record.value or b"" for record in log.read(len(found), 1 << 20).records()]
    return found


def fail(error: BaseException) -> None:
    raise error


def fork(life: Life) -> None:
    def be_refused() -> None:
        life.directory.close()
        life.directory.abandon()
        life.directory.run_periodic()
        with pytest.raises(DirectoryLockedError):
            life.directory.checkpoint()
        life.directory.create(TopicPartition("child", 0))

    status = exit_status_of(be_refused, refused=DirectoryLockedError, seconds=SECONDS // 2)
    assert status == 7, f"the child came to {status}"


class Interruptions:
    """A life whose calls are broken off."""

    def __init__(self, root: Path, rng: random.Random, bystander: Bystander, points: dict[str, int]) -> None:
        self.rng, self.bystander, self.points = rng, bystander, points
        self.interrupter = Interrupter()
        self.life = Life(root, rng, self.interrupter)
        self.done = 0

    def live(self) -> None:
        """Make some calls."""
        story: list[str] = []
        for _ in range(CALLS_OF_A_LIFE):
            signal.alarm(SECONDS)
            name, call, about = self.life.next_call()
            kind = "fork" if self.rng.random() < 0.03 else self.rng.choice(list(RAISED))
            try:
                self.interrupt(name, call, about, kind)
            except BaseException as error:
                error.add_note("\n".join([*story[-8:], f"{name} {about}: {kind} {self.interrupter.place}"]))
                raise
            story.append(f"{name} {about}: {kind} {self.interrupter.place or 'nowhere'}")
        self.life.directory.close()

    def interrupt(self, name: str, call: Callable[[], object], about: TopicPartition | None, kind: str) -> None:
        """Make a call with something raised in the middle of it; see what it has left."""
        life, interrupter = self.life, self.interrupter
        error = RAISED[kind]() if kind in RAISED else None
        within = interrupter.beside_steps if self.rng.random() < 0.4 else interrupter.between_bytecodes
        caught: BaseException | None = None
        with within(
            self.rng.randrange(self.points.get(name, 0) + 1), partial(fail, error) if error else partial(fork, life)
        ):
            try:
                call()
            except BaseException as raised:  # noqa: BLE001  looked at below
                caught = raised
        self.points[name] = max(self.points.get(name, 0), interrupter.passed)
        self.done += bool(interrupter.place)
        assert caught is None or interrupter.place, f"nothing was raised, but {caught!r} came"
        self.settle(name, about, is_done=caught is None)

    def settle(self, name: str, about: TopicPartition | None, *, is_done: bool) -> None:
        """Go on as a program would."""
        life = self.life
        if about is not None and name in {"create", "delete"}:
            self.take_note(name, about, is_done=is_done)
        if name == "close" or life.directory.failure is not None or (not is_done and self.rng.random() < 0.3):
            life.start_again()
        for partition in list(life.partitions):
            log = life.directory.partitions.get(partition)
            if log is not None and (log.failure is not None or (name == "recover" and partition == about)):
                life.directory.recover(partition)
        # In another thread: no lock is held.
        answer = self.bystander.ask(life.directory.checkpoint, SECONDS)
        assert answer is None, answer
        if name == "close" or life.unsure or self.rng.random() < 0.1:
            life.start_again()
        life.compare()
        life.append()

    def take_note(self, name: str, about: TopicPartition, *, is_done: bool) -> None:
        """Note what was made or deleted; what was broken off is tried again at times."""
        life = self.life
        if not is_done and life.directory.failure is None and self.rng.random() < 0.5:
            again = life.directory.create if name == "create" else life.directory.delete
            if name == "create" or about in life.directory.partitions:
                if about not in life.directory.partitions or name == "delete":
                    again(about)
                is_done = True
        if not is_done:
            life.unsure.add(about)
        elif name == "create":
            life.partitions[about] = []
        else:
            life.partitions.pop(about)


HERE, GONE = TopicPartition("t", 0), TopicPartition("t", 1)
GOES_ON: dict[str, Callable[[LogDirectory], object]] = {
    "create": lambda directory: directory.create(GONE, topic_id=UUID(int=7)),
    "create without an id": lambda directory: directory.create(GONE),
    "delete": lambda directory: directory.delete(HERE),
    "checkpoint": lambda directory: directory.checkpoint(),
    "checkpoint_high_watermarks": lambda directory: directory.checkpoint_high_watermarks(),
    "recover": lambda directory: directory.recover(HERE),
    "close": lambda directory: directory.close(),
}


def files_of(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() if path.is_file() else b"" for path in root.rglob("*")}


def go_on_in_both(root: Path, interrupter: Interrupter, children: list[int]) -> None:
    """Fork as a signal handler may: not in the middle of a call in C, which is where a name changes."""
    if interrupter.place.startswith("before") and interrupter.place not in {"before write", "before fsync"}:
        return
    there = files_of(root)
    children.append(os.fork())
    if children[-1]:
        assert os.waitstatus_to_exitcode(os.waitpid(children[-1], 0)[1]) == 0, interrupter.place
        assert files_of(root) == there, interrupter.place


@pytest.mark.parametrize("name", GOES_ON)
def test_a_child_that_goes_on_with_the_call_changes_no_file(memory_dir: Path, name: str) -> None:
    forks = 0
    for at in count():
        root = memory_dir / f"{name} {at}"
        interrupter = Interrupter()
        directory = LogDirectory.open(root, CONFIG, filesystem=InterruptedDisk(interrupter))
        directory.create(HERE).append([Record.of(b"value")])
        children: list[int] = []

        try:
            with interrupter.beside_steps(at, partial(go_on_in_both, root, interrupter, children)):
                GOES_ON[name](directory)
        except BaseException:  # the child ends here, whatever comes
            if children == [0]:
                os._exit(0)
            raise
        if children == [0]:
            os._exit(0)
        forks += len(children)
        directory.close()
        if not interrupter.place:
            break
    assert forks > 1


@pytest.mark.filterwarnings("ignore:Exception ignored.*:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_no_partition_and_no_record_is_lost_whatever_is_raised(memory_dir: Path) -> None:
    root = memory_dir / "interrupted"
    rng = random.Random(INTERRUPTIONS.seed)
    points: dict[str, int] = {}
    done = 0
    with Bystander() as bystander:
        while done < INTERRUPTIONS.count:
            interruptions = Interruptions(root, random.Random(rng.randrange(2**32)), bystander, points)
            interruptions.live()
            done += interruptions.done
            rmtree(root)
    INTERRUPTIONS.report(done)
