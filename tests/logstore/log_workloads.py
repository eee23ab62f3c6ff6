"""What logs are used for, in short, on a disk that notes every step: what crashes are worked out from."""

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from logstore.append_origin import AppendOrigin
from logstore.batch_template import BatchTemplate
from logstore.batches import read_batches
from logstore.codec import Codec
from logstore.encoding import encode_batch
from logstore.log import Log, now_ms
from logstore.log_config import LogConfig
from logstore.record import Record
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
    clean: bool = False
    """The log has been closed, and not been opened since."""


class Workload:
    """A log in use, what it has promised, and every version of its content: a truncation begins another."""

    def __init__(self, root: Path, config: LogConfig = CONFIG) -> None:
        self.root = root
        self.config = config
        self.disk = RecordingDisk()
        self.versions: list[list[StoredBatch]] = [[]]
        self.promise = Promise()
        self._sequences: dict[int, int] = {}
        self.log = self._open()

    # --- what is done

    def lead(self, records: int = 2, size: int = 200, *, epoch: int = 0, codec: Codec = Codec.NONE) -> None:
        """Append one batch as the leader."""
        self._note(self.log.append(self._records(records, size), leader_epoch=epoch, template=BatchTemplate(codec=codec)))

    def follow(self, *batches: tuple[int, int, int]) -> None:
        """Append batches as a follower, each given as records, their size, and epoch."""
        offset, data = self.log.log_end_offset, b""
        for records, size, epoch in batches:
            template = BatchTemplate(base_offset=offset, leader_epoch=epoch)
            data += encode_batch(self._records(records, size), template)
            offset += records
        self._note(self.log.append_batches(data))

    def produce(self, producer: int, records: int = 1, size: int = 120, *, epoch: int = 0) -> None:
        """Append as a transactional producer."""
        sequence = self._sequences.get(producer, 0)
        self._sequences[producer] = sequence + records
        template = BatchTemplate(
            producer_id=producer, producer_epoch=0, base_sequence=sequence, is_transactional=True
        )
        self._note(self.log.append(self._records(records, size), leader_epoch=epoch, template=template))

    def end_transaction(self, producer: int, *, commit: bool, epoch: int = 0) -> None:
        """Append a transaction's marker, as its coordinator does."""
        marker = Record(0, NOW, struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, 0))
        template = BatchTemplate(producer_id=producer, producer_epoch=0, is_transactional=True, is_control=True)
        append = self.log.append(
            [marker],
            leader_epoch=epoch,
            template=template,
            origin=AppendOrigin.COORDINATOR,
            transaction_version=1,
        )
        self._note(append)

    def flush(self) -> None:
        """Flush, and rely on it."""
        self.log.flush()
        self._promise(version=len(self.versions) - 1, start=self.log.log_start_offset, end=self.log.log_end_offset)

    def truncate_to(self, offset: int) -> None:
        """Truncate: what lies behind is not promised any more once that is asked for."""
        self._promise(end=min(self.promise.end, offset))
        self.versions.append([batch for batch in self.versions[-1] if batch.last_offset < offset])
        self.log.truncate_to(offset)

    def truncate_fully(self, offset: int) -> None:
        """Begin anew elsewhere."""
        self._promise(version=len(self.versions), start=0, end=0, deleted_before=0)
        self.versions.append([])
        self.log.truncate_fully_and_start_at(offset)
        self._promise(start=offset, end=offset, deleted_before=offset)

    def delete_records(self, before: int) -> None:
        """Delete records, and rely on it."""
        self.log.update_high_watermark(self.log.log_end_offset)
        self._promise(start=before)
        self.log.delete_records(before)
        self._promise(deleted_before=before)

    def delete_old_segments(self, keeping: int) -> None:
        """Let retention do its work; it must keep what is from offset `keeping` on."""
        self.log.update_high_watermark(self.log.log_end_offset)
        self._promise(start=keeping)
        assert self.log.delete_old_segments()
        assert self.log.log_start_offset <= keeping
        self._promise(deleted_before=self.log.log_start_offset)

    def close_and_open(self) -> None:
        """Stop and start in order."""
        self.log.close()
        self._promise(version=len(self.versions) - 1, start=self.log.log_start_offset, end=self.log.log_end_offset)
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
        self.log.close()
        self._promise(version=len(self.versions) - 1, start=self.log.log_start_offset, end=self.log.log_end_offset)

    def __repr__(self) -> str:
        return f"Workload({self.log}, {len(self.disk.steps)} steps)"

    # --- what is known

    def _open(self) -> Log:
        return Log.open(self.root / PARTITION, self.config, filesystem=self.disk, clock=lambda: NOW)

    def _promise(self, **changes: int) -> None:
        self.promise = replace(self.promise, **changes)
        self.disk.tell(self.promise)

    def _note(self, info: object) -> None:
        known = self.versions[-1][-1].last_offset + 1 if self.versions[-1] else self.log.log_start_offset
        while known < self.log.log_end_offset:
            self.versions[-1] += stored(self.log, known)
            known = self.versions[-1][-1].last_offset + 1

    def _records(self, count: int, size: int) -> list[Record]:
        number = sum(map(len, self.versions))
        return [Record(i, NOW + number, None, b"%d/%d " % (number, i) * (size // 4)) for i in range(count)]


def stored(log: Log, offset: int) -> list[StoredBatch]:
    """The batches of one read from `offset` on. Each must be whole."""
    found = []
    for batch in log.read(offset, 1 << 20).batches():
        batch.ensure_valid()
        data = bytes(batch.data[batch.position : batch.position + batch.size])
        found.append(StoredBatch(batch.base_offset, batch.last_offset, batch.leader_epoch, data))
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
    work.delete_old_segments(keeping=7)
    for number in range(4):
        work.lead(2, 300, epoch=4 + number)
    work.delete_records(work.log.log_end_offset)
    work.delete_old_segments(keeping=work.log.log_end_offset)
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


WORKLOADS: tuple[Callable[[Workload], None], ...] = (
    leader,
    follower,
    truncation,
    truncation_of_what_is_read,
    starting_over,
    deletion,
    transactions,
    restarts,
)
