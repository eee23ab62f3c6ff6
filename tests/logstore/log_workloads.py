"""What logs are used for, in short, on a disk that notes every step: what crashes are worked out from."""

import random
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from logstore.append.append_info import AppendInfo
from logstore.append.encoding import encode_batch
from logstore.batch.append_origin import AppendOrigin
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.compression.codec import Codec
from logstore.batch.record import Record
from logstore.clock import now_ms
from logstore.directory.log_directory import LogDirectory
from logstore.file_name import FileFate, FileKind, file_name
from logstore.files.offset_checkpoint import RECOVERY_POINT_CHECKPOINT
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.offline.log_file import LogFile
from logstore.recovery.damage_policy import Damage
from logstore.recovery.segment_split import plan_split, write_parts
from logstore.topic_partition import TopicPartition
from tests.logstore.batches import batch, record
from tests.logstore.late_syncs import late_syncs
from tests.recording_disk import RecordingDisk

NOW = now_ms()
CONFIG = LogConfig(
    segment_bytes=2_500,
    index_interval_bytes=300,
    segment_index_bytes=4_096,
    retention_ms=-1,
    file_delete_delay_ms=0,
)
PARTITION = "t-0"


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """A batch as the log has it."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Promise:
    """What a log has acknowledged so far."""

    version: int = 0
    """Which of the workload's versions holds the batches."""
    start: int = 0
    end: int = 0
    """Offsets within which no record may be lost: they are flushed, and nobody has asked to remove them."""
    deleted_before: int = 0
    """Records below it have been deleted, and may not come back."""


class LogUse:
    """One log in use, what it has promised, and every version of its content: a truncation begins another."""

    def __init__(self, name: str, log: Log, tell: Callable[[str, Promise], object]) -> None:
        self.name = name
        self.log = log
        self.versions: list[list[StoredBatch]] = [[]]
        self.promise = Promise()
        self._tell = tell
        self._sequences: dict[int, int] = {}

    # --- what is done

    def lead(self, records: int = 2, size: int = 200, *, epoch: int = 0, codec: Codec = Codec.NONE) -> None:
        """Append one batch as the leader, in a later epoch where that one is over."""
        template = BatchTemplate(codec=codec)
        self._note(self.log.append(self._records(records, size), leader_epoch=self._begun(epoch), template=template))

    def follow(self, *batches: tuple[int, int, int]) -> None:
        """Append batches as a follower, each given as records, their size, and epoch."""
        offset, data = self.log.log_end_offset, b""
        for records, size, epoch in batches:
            template = BatchTemplate(base_offset=offset, leader_epoch=self._begun(epoch))
            data += encode_batch(self._records(records, size), template)
            offset += records
        self._note(self.log.append_batches(data))

    def produce(self, producer: int, records: int = 1, size: int = 120, *, epoch: int = 0) -> None:
        """Append as a transactional producer."""
        sequence = self._sequences.get(producer, 0)
        template = BatchTemplate(producer_id=producer, producer_epoch=0, base_sequence=sequence, is_transactional=True)
        self._note(self.log.append(self._records(records, size), leader_epoch=self._begun(epoch), template=template))
        self._sequences[producer] = sequence + records

    def end_transaction(self, producer: int, *, commit: bool, epoch: int = 0) -> None:
        """Append a transaction's marker, as its coordinator does."""
        marker = Record(0, NOW, struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, 0))
        template = BatchTemplate(producer_id=producer, producer_epoch=0, is_transactional=True, is_control=True)
        self._note(
            self.log.append(
                [marker],
                leader_epoch=self._begun(epoch),
                template=template,
                origin=AppendOrigin.COORDINATOR,
                transaction_version=1,
            )
        )

    def _begun(self, epoch: int) -> int:
        """The epoch, or the later one that an only copy has begun with after something of it may have been lost."""
        latest, reserved = self.log.epochs.latest_epoch or 0, self.log.epochs.reserved
        return max(epoch, latest, reserved.epoch if reserved else 0)

    def flush(self) -> None:
        """Flush, and rely on it."""
        self.log.flush()
        self.rely_on_all()

    def rely_on_all(self) -> None:
        """Note that all that is in the log is promised: it has been flushed."""
        self.promised(version=len(self.versions) - 1, start=self.log.log_start_offset, end=self.log.log_end_offset)

    def truncate_to(self, offset: int) -> None:
        """Truncate: what lies behind is not promised any more once that is asked for."""
        self.promised(end=min(self.promise.end, offset))
        self.versions.append([batch for batch in self.versions[-1] if batch.last_offset < offset])
        self.log.truncate_to(offset)

    def truncate_fully(self, offset: int) -> None:
        """Begin anew elsewhere."""
        self.promised(version=len(self.versions), start=0, end=0, deleted_before=0)
        self.versions.append([])
        self.log.truncate_fully_and_start_at(offset)

    def delete_records(self, before: int) -> None:
        """Delete records."""
        self.log.update_high_watermark(self.log.log_end_offset)
        self.promised(start=max(before, self.promise.start))
        self.log.delete_records(before)

    def delete_old_segments(self) -> None:
        """Let retention do its work: at worst it removes all."""
        self.log.update_high_watermark(self.log.log_end_offset)
        self.promised(start=max(self.promise.start, self.log.segments[-1].base_offset, self.log.log_start_offset))
        self.log.delete_old_segments()

    def promised(self, **changes: int) -> None:
        """Tell what holds from here on."""
        self.promise = replace(self.promise, **changes)
        self._tell(self.name, self.promise)

    # --- what is known

    @property
    def ends(self) -> list[int]:
        """Where batches end that are in the log."""
        return [batch.last_offset + 1 for batch in self.versions[-1] if batch.last_offset >= self.log.log_start_offset]

    def _note(self, _: AppendInfo) -> None:
        known = self.versions[-1][-1].last_offset + 1 if self.versions[-1] else self.log.log_start_offset
        while known < self.log.log_end_offset:
            self.versions[-1] += stored(self.log, known)
            known = self.versions[-1][-1].last_offset + 1

    def _records(self, count: int, size: int) -> list[Record]:
        number = sum(map(len, self.versions))
        return [Record(i, NOW + number, None, (b"%d/%d " % (number, i) * size)[:size]) for i in range(count)]


class Workload(LogUse):
    """A log that stands alone. Its own checkpoint files make deletions durable."""

    def __init__(self, root: Path, config: LogConfig = CONFIG, disk: RecordingDisk | None = None) -> None:
        self.root = root
        self.config = config
        self.disk = disk or RecordingDisk()
        self.damage: Damage = "raise"
        super().__init__(PARTITION, self._open(), lambda name, promise: self.disk.tell({name: promise}))
        self.uses: dict[str, LogUse] = {PARTITION: self}

    def truncate_fully(self, offset: int) -> None:
        """Begin anew elsewhere, and rely on it."""
        super().truncate_fully(offset)
        self.promised(start=offset, end=offset, deleted_before=offset)

    def delete_records(self, before: int) -> None:
        """Delete records, and rely on it."""
        super().delete_records(before)
        self.promised(deleted_before=self.log.log_start_offset)

    def delete_old_segments(self) -> None:
        """Let retention do its work, and rely on it."""
        super().delete_old_segments()
        self.promised(deleted_before=self.log.log_start_offset)

    def close_and_open(self) -> None:
        """Stop and start in order."""
        self.close()
        self.log = self._open()

    def die_and_open(self, *, torn: bytes = b"") -> None:
        """Stop without a word, perhaps in the middle of a write, and recover."""
        self.log.abandon()
        if torn:
            descriptor = self.disk.open(self.log.segments[-1].path)
            self.disk.write(descriptor, torn)
            self.disk.close(descriptor)
        self.log = self._open()

    def close(self) -> None:
        """Stop in order, and rely on it."""
        self.log.close()
        self.rely_on_all()

    @contextmanager
    def open_after_crash(self, root: Path) -> Iterator[dict[str, Log]]:
        """Open what a crash has left, and close it in order."""
        with Log.open(root / PARTITION, self.config, damage=self.damage, clock=lambda: NOW) as log:
            yield {PARTITION: log}

    def _open(self) -> Log:
        return Log.open(self.root / PARTITION, self.config, damage=self.damage, filesystem=self.disk, clock=lambda: NOW)


class DirectoryWorkload:
    """Several partitions in one root, which keeps their checkpoints."""

    def __init__(
        self, root: Path, config: LogConfig = CONFIG, disk: RecordingDisk | None = None, *, replicated: bool = False
    ) -> None:
        self.root = root
        self.config = config
        self.replicated = replicated
        self.disk = disk or RecordingDisk()
        self.uses: dict[str, LogUse] = {}
        self._promises: dict[str, Promise] = {}
        self.directory = self._open(root)

    def create(self, number: int) -> LogUse:
        """Make a partition, and rely on it."""
        partition = TopicPartition("t", number)
        use = LogUse(str(partition), self.directory.create(partition), self._tell)
        self.uses[use.name] = use
        use.promised()
        return use

    def delete(self, use: LogUse) -> None:
        """Delete a partition. It may be back after a crash only while that is under way."""
        del self._promises[use.name]
        self.disk.tell(dict(self._promises))
        self.directory.delete(TopicPartition("t", int(use.name[2:])))

    def close_and_open(self) -> None:
        """Stop and start in order."""
        self.directory.close()
        for name in self._promises:
            self.uses[name].rely_on_all()
        self.directory = self._open(self.root)
        self._take_logs()

    def die_and_open(self) -> None:
        """Stop without a word, and recover."""
        self.directory.abandon()
        self.directory = self._open(self.root)
        self._take_logs()

    @contextmanager
    def open_after_crash(self, root: Path) -> Iterator[dict[str, Log]]:
        """Open what a crash has left, and close it in order."""
        with LogDirectory.open(root / "logs", self.config, clock=lambda: NOW) as directory:
            assert not directory.unreadable
            yield {f"logs/{partition}": log for partition, log in directory.partitions.items()}

    def _open(self, root: Path) -> LogDirectory:
        return LogDirectory.open(
            root / "logs", self.config, replicated=self.replicated, filesystem=self.disk, clock=lambda: NOW
        )

    def _take_logs(self) -> None:
        for partition, log in self.directory.partitions.items():
            self.uses[str(partition)].log = log

    def _tell(self, name: str, promise: Promise) -> None:
        self._promises[name] = promise
        self.disk.tell(dict(self._promises))


def stored(log: Log, offset: int) -> list[StoredBatch]:
    """The batches of one read from `offset` on. Each must be whole."""
    found = []
    for each in log.read(offset, 1 << 20).batches():
        each.ensure_valid()
        data = bytes(each.data[each.position : each.position + each.size])
        found.append(StoredBatch(each.base_offset, each.last_offset, each.leader_epoch, data))
    return found


def leader(work: Workload) -> None:
    """A leader's life: codecs, rolls, a flush now and then, other epochs."""
    for number in range(7):
        work.lead(1 + number % 3, 150 + 90 * number, epoch=number // 3, codec=[Codec.NONE, Codec.ZSTD][number % 2])
    work.flush()
    for _ in range(6):
        work.lead(2, 250, epoch=4)
    work.log.roll()
    work.lead(epoch=5)
    work.flush()
    work.lead(1, 1_800, epoch=6)


def follower(work: Workload) -> None:
    """A follower's life: several batches at once, epochs as they come."""
    work.follow((2, 100, 0), (1, 300, 0), (3, 50, 1))
    work.follow((4, 80, 1), (4, 80, 1))
    work.flush()
    work.follow((1, 900, 3), (1, 400, 4))
    work.follow((2, 300, 4), (2, 100, 4), (1, 100, 6))
    work.flush()
    work.follow((1, 600, 6))
    work.follow((1, 600, 7))


def truncation(work: Workload) -> None:
    """A follower of changing leaders cuts its log, inside a segment and across several, and goes on."""
    for number in range(6):
        work.follow((2, 200, number // 2), (2, 250, number // 2))
    work.flush()
    work.follow((2, 150, 3))
    work.truncate_to(22)
    work.follow((2, 150, 4), (1, 200, 5))
    work.truncate_to(6)
    work.follow((2, 200, 6), (2, 250, 6))
    work.follow((2, 200, 7), (2, 250, 7))
    work.flush()
    work.follow((2, 200, 7), (2, 250, 8))
    work.truncate_to(4)
    work.follow((2, 400, 9), (2, 250, 9))
    work.follow((2, 400, 9), (2, 250, 10))
    work.flush()
    work.follow((3, 100, 11))
    work.flush()
    work.truncate_to(work.ends[-2])
    work.follow((1, 100, 12))
    work.follow((1, 100, 13))


def truncation_of_what_is_read(work: Workload) -> None:
    """A reader holds the bytes while the log is cut: the file is replaced."""
    for number in range(4):
        work.follow((2, 150, number), (1, 100, number))
    work.flush()
    view = work.log.read(work.log.log_end_offset - 3, 1 << 20)
    work.truncate_to(work.log.log_end_offset - 3)
    work.follow((2, 170, 5))
    work.flush()
    work.follow((1, 170, 6))
    del view


def starting_over(work: Workload) -> None:
    """A follower that is too far behind begins anew, ahead of its end and behind it."""
    for number in range(4):
        work.follow((2, 250, number), (1, 300, number))
    work.flush()
    work.truncate_fully(100)
    work.follow((2, 150, 5), (1, 200, 6))
    work.flush()
    work.follow((2, 150, 6), (1, 900, 7))
    work.truncate_fully(50)
    work.follow((2, 150, 8))
    work.flush()


def deletion(work: Workload) -> None:
    """Records and whole segments go from the front."""
    for number in range(8):
        work.lead(2, 300, epoch=number // 2)
    work.flush()
    work.delete_records(7)
    work.delete_old_segments()
    for number in range(4):
        work.lead(2, 300, epoch=4 + number)
    work.delete_records(work.log.log_end_offset)
    work.delete_old_segments()
    work.lead(2, 300, epoch=9)
    work.flush()


def transactions(work: Workload) -> None:
    """Transactions, overlapping, some of them aborted."""
    for number in range(4):
        work.produce(1)
        work.produce(2, 2)
        work.end_transaction(1, commit=bool(number % 2))
        work.lead(1, 250, epoch=0)
        work.end_transaction(2, commit=False)
        if number == 1:
            work.flush()
    work.produce(3)
    work.flush()
    work.end_transaction(3, commit=False)
    work.produce(1)


def restarts(work: Workload) -> None:
    """Stops, in order and not, with and without a torn write at the end."""
    work.lead(2, 250)
    work.produce(1)
    work.close_and_open()
    work.lead(2, 250, epoch=1)
    work.end_transaction(1, commit=False, epoch=1)
    work.die_and_open()
    work.lead(2, 250, epoch=2)
    work.die_and_open(torn=work.versions[-1][0].data[:-5])
    work.lead(2, 450, epoch=3)
    work.lead(2, 450, epoch=3)
    work.flush()
    work.lead(2, 450, epoch=4)
    work.die_and_open(torn=bytes(700))
    work.lead(1, 150, epoch=5)
    work.close()


def random_life(work: Workload, rng: random.Random, *, has_producers: bool | None = None) -> None:
    """Anything, in any order. Producers and truncations do not go together: sequence numbers would have holes."""
    if has_producers is None:
        has_producers = rng.random() < 0.4
    in_transaction: set[int] = set()
    epoch = work.log.epochs.latest.epoch if work.log.epochs.latest else 0
    for _ in range(rng.randrange(8, 22)):
        epoch += rng.random() < 0.25
        reserved = work.log.epochs.reserved
        epoch = epoch if reserved is None else max(epoch, reserved.epoch)
        records, size = rng.randrange(1, 4), rng.choice([20, 100, 220])
        action = rng.random()
        if action < 0.35:
            work.follow(*[(records, size // 2, epoch)] * rng.randrange(1, 3))
        elif action < 0.5:
            work.lead(records, size, epoch=epoch, codec=rng.choice(list(Codec)))
        elif action < 0.6 and has_producers:
            producer = rng.randrange(2)
            work.produce(producer, records, size, epoch=epoch)
            in_transaction.add(producer)
        elif action < 0.65 and in_transaction:
            work.end_transaction(in_transaction.pop(), commit=rng.random() < 0.3, epoch=epoch)
        elif action < 0.75:
            work.flush()
        elif action < 0.82 and not has_producers and len(work.ends) > 1:
            work.truncate_to(rng.choice(work.ends[:-1]))
            epoch += 1
        elif action < 0.83 and not has_producers:
            work.truncate_fully(work.log.log_end_offset + rng.choice([0, 50]))
        elif action < 0.87 and not has_producers and work.ends:
            work.delete_records(rng.choice(work.ends) - rng.randrange(2))
        elif action < 0.9 and not has_producers:
            work.delete_old_segments()
        elif action < 0.93:
            work.log.roll()
        elif action < 0.96:
            work.close_and_open()
        else:
            work.die_and_open(torn=rng.choice([b"", rng.randbytes(70), bytes(600)]))


def random_config(rng: random.Random) -> LogConfig:
    """Segments of few batches."""
    return LogConfig(
        segment_bytes=rng.choice([1_000, 2_500, 6_000]),
        index_interval_bytes=rng.choice([0, 300, 4_096]),
        segment_index_bytes=rng.choice([40, 4_096]),
        retention_ms=-1,
        retention_bytes=rng.choice([-1, 3_000]),
        flush_messages=rng.choice([7, 2**63 - 1]),
        file_delete_delay_ms=rng.choice([0, 60_000]),
    )


def directory_life(work: DirectoryWorkload) -> None:
    """Partitions come and go; the root's checkpoints are written, or are behind."""
    first, second = work.create(0), work.create(1)
    for number in range(4):
        first.lead(2, 220, epoch=number)
        second.follow((2, 300, number), (1, 100, number))
    first.flush()
    work.directory.checkpoint()
    second.flush()
    first.truncate_to(4)
    first.follow((2, 300, 6), (2, 300, 7))
    first.follow((2, 300, 8), (2, 300, 8))
    second.delete_records(6)
    second.delete_old_segments()
    work.directory.checkpoint()
    second.promised(deleted_before=6)
    work.directory.checkpoint_high_watermarks()
    work.close_and_open()
    first.lead(2, 400, epoch=9)
    work.delete(second)
    first.truncate_to(2)
    first.lead(2, 400, epoch=10)
    work.die_and_open()
    third = work.create(2)
    third.lead(3, 100)
    third.flush()
    first.lead(2, 200, epoch=11)
    work.directory.close()
    for use in (first, third):
        use.rely_on_all()


def damage(work: Workload) -> None:
    """A disk has damaged a segment, and lost the recovery point: the segments behind the damage go too."""
    work.damage = "cut"
    for number in range(9):
        work.lead(2, 300, epoch=number // 4)
    work.flush()
    first = work.log.segments[0]
    kept = first.base_offset + 4
    work.promised(end=kept)
    work.log.abandon()
    work.disk.unlink(work.log.directory / RECOVERY_POINT_CHECKPOINT)
    work.disk.fsync_directory(work.log.directory)
    descriptor = work.disk.open(first.path)
    work.disk.truncate(first.path, first.size - 10)
    work.disk.fsync(descriptor)
    work.disk.close(descriptor)
    work.die_and_open()
    work.versions.append([batch for batch in work.versions[-1] if batch.last_offset < kept])
    for number in range(4):
        work.lead(2, 300, epoch=5 + number)


def lost_indexes(work: Workload) -> None:
    """Indexes below the recovery point are lost: while they are built anew, what they lead to counts as safe."""
    for number in range(4):
        work.produce(1, size=300)
        work.lead(2, 250, epoch=0)
        work.end_transaction(1, commit=bool(number % 2))
    work.flush()
    work.lead(1, 100, epoch=1)
    for segment in work.log.segments[:-1]:
        work.disk.unlink(segment.offset_index.path)
    work.disk.fsync_directory(work.log.directory)
    work.die_and_open()
    work.lead(2, 300, epoch=2)


def overflow(work: Workload) -> None:
    """Compaction has left a segment whose offsets are too far apart for its index: it is split."""
    put_offsets_far_apart(work)
    work.die_and_open()
    work.lead(2, 300, epoch=5)
    work.flush()


def interrupted_split(work: Workload) -> None:
    """The same, where a crash came when all parts but the first were complete."""
    put_offsets_far_apart(work)
    directory = work.log.directory
    with LogFile.open(directory / file_name(FileKind.LOG, 0)) as log:
        parts = plan_split(log, 0)
    write_parts(directory, 0, parts, work.disk)
    swapped, incomplete = (directory / file_name(FileKind.LOG, 0, fate) for fate in (FileFate.SWAP, FileFate.CLEANED))
    work.disk.rename(swapped, incomplete)
    work.disk.fsync_directory(directory)
    work.die_and_open()


def put_offsets_far_apart(work: Workload) -> None:
    """Write such a segment, durably."""
    farthest, offset = 2**31 - 1, 0
    for number, reach in enumerate([3, farthest - 4, 3, farthest - 9, 0, 5, farthest, 2]):
        data = batch(
            base_offset=offset, records=[record(value=b"kept" * 40)], last_offset_delta=reach, leader_epoch=number // 3
        )
        work.versions[-1].append(StoredBatch(offset, offset + reach, number // 3, data))
        offset += reach + 1
    work.log.abandon()
    descriptor = work.disk.open(work.log.segments[0].path)
    work.disk.write(descriptor, b"".join(each.data for each in work.versions[-1]))
    work.disk.fsync(descriptor)
    work.disk.close(descriptor)
    work.disk.fsync_directory(work.log.directory)
    work.promised(end=offset)


LIVES: tuple[Callable[[Workload], None], ...] = (
    leader,
    follower,
    truncation,
    truncation_of_what_is_read,
    starting_over,
    deletion,
    transactions,
    restarts,
    damage,
    lost_indexes,
    overflow,
    interrupted_split,
)
RANDOM_LIVES = 80
LATE = "late-"
"""Of lives whose rolls leave the sync of a segment to the next call that needs it."""
LATE_LIVES = tuple(LATE + life.__name__ for life in (leader, follower, truncation, transactions))
NAMED_LIVES = (*(life.__name__ for life in LIVES), "directory", *LATE_LIVES)


def lives(root: Path, numbers: Iterable[int]) -> Iterator[Workload | DirectoryWorkload]:
    """Live every life that has a name, and some random ones, each in a directory of its own."""
    for name in (*NAMED_LIVES, *map(str, numbers)):
        yield live(name, _new(root / name))


def live(name: str, root: Path, disk: RecordingDisk | None = None) -> Workload | DirectoryWorkload:
    """Live the life of that name in an empty directory, or the random one of that number."""
    is_late = name.startswith(LATE) or (name.isdecimal() and int(name) % 2 == 1)
    with late_syncs(are_late=is_late):
        return _live(name.removeprefix(LATE), root, disk)


def _live(name: str, root: Path, disk: RecordingDisk | None) -> Workload | DirectoryWorkload:
    if name == "directory":
        directory = DirectoryWorkload(root, disk=disk)
        directory_life(directory)
        return directory
    if name.isdecimal():
        rng = random.Random(int(name))
        work = Workload(root, random_config(rng), disk)
        random_life(work, rng)
        return work
    work = Workload(root, disk=disk)
    next(life for life in LIVES if life.__name__ == name)(work)
    return work


def _new(directory: Path) -> Path:
    directory.mkdir()
    return directory
