"""A log in use at random, whose calls may be broken off, and what each call may then have left."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import ClassVar

from logstore.append.encoding import encode_batch, encode_end_transaction
from logstore.batch.append_origin import AppendOrigin
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.batches import read_batches
from logstore.batch.control import ControlType, EndTransactionMarker
from logstore.batch.record import Record
from logstore.log.log import Log
from logstore.log.reading.isolation import Isolation
from logstore.log_config import LogConfig
from tests.interruption import InterruptedDisk, Interrupter
from tests.logstore.log_workloads import StoredBatch, stored

NOW = 1_700_000_000_000
CONFIG = LogConfig(
    segment_bytes=2_500, index_interval_bytes=200, segment_index_bytes=4_096, retention_ms=-1, file_delete_delay_ms=0
)
MOST_BATCHES = 24
"""A longer log is cut soon."""

Content = list[StoredBatch]


@dataclass(frozen=True)
class Call:
    """A call, and what the log holds when it has returned."""

    name: str
    do: Callable[[], object]
    after: Content
    may_poison: bool = True
    """Whether it may leave a poisoned log where it is broken off; else the log is as before."""
    may_stop_between: bool = False
    """Whether a poisoned log may hold a part of what it held before, and not only all or `after`."""


class Life:
    """One log, and all that it holds."""

    def __init__(self, directory: Path, rng: random.Random, interrupter: Interrupter, config: LogConfig) -> None:
        self.directory = directory
        self.rng = rng
        self.config = config
        self.content: Content = []
        self.epoch = 0
        self.start = 0
        """Before it nothing is looked at: records there may be deleted."""
        self.disk = InterruptedDisk(interrupter)
        self.log = self.open()
        self._numbers = count()
        self._producer = 0
        self._sequences: dict[int, int] = {}
        self._has_transaction = False

    def open(self) -> Log:
        """Open the log as it is on disk."""
        return Log.open(self.directory, self.config, filesystem=self.disk, clock=lambda: NOW)

    def found(self) -> Content:
        """All batches that can be read now, from the ledger's start on."""
        found: Content = []
        offset = self.log.log_start_offset
        while offset < self.log.log_end_offset:
            batches = stored(self.log, offset)
            if not batches:
                break
            found += batches
            offset = batches[-1].last_offset + 1
        return [batch for batch in found if batch.last_offset >= self.start]

    def next_call(self) -> Call:
        """Choose what to do, in an epoch that is not over."""
        reserved = self.log.epochs.reserved
        if reserved is not None:
            self.epoch = max(self.epoch, reserved.epoch)
        if len(self.content) > MOST_BATCHES:
            return self.rng.choice([self.truncate_to, self.delete_records, self.truncate_fully])()
        [make] = self.rng.choices(list(self.calls), list(self.calls.values()))
        return make(self)

    # --- calls that add

    def lead(self) -> Call:
        if self.rng.random() < 0.2:
            self.epoch += 1
        data = self._batch(self.rng.choice([60, 200, 700]))
        return Call("append", self._append(data), [*self.content, self._stored(data)], may_poison=False)

    def lead_records(self) -> Call:
        records = [self._record(50), self._record(90)]
        after = [*self.content, self._stored(bytes(encode_batch(records)))]
        return Call("append records", self._append(records), after, may_poison=False)

    def follow(self) -> Call:
        batches: Content = []
        offset = self.log.log_end_offset
        for _ in range(self.rng.choice([1, 1, 2, 3, 8])):
            if self.rng.random() < 0.1:
                self.epoch += 1
            batches.append(self._stored(self._batch(self.rng.choice([60, 90])), offset))
            offset = batches[-1].last_offset + 1
        data = b"".join(batch.data for batch in batches)
        after = [*self.content, *batches]
        return Call("append_batches", lambda: self.log.append_batches(data), after, may_poison=False)

    def produce(self) -> Call:
        sequence = self._sequences.get(self._producer, 0)
        template = BatchTemplate(
            producer_id=self._producer, producer_epoch=0, base_sequence=sequence, is_transactional=True
        )
        data = bytes(encode_batch([self._record(80)], template))
        return Call("append as a producer", self._append(data), [*self.content, self._stored(data)])

    def end_transaction(self) -> Call:
        if not self._has_transaction:
            return self.produce()
        kind = self.rng.choice([ControlType.COMMIT, ControlType.ABORT])
        data = bytes(encode_end_transaction(EndTransactionMarker(kind, 0, 0), self._producer, 0, NOW))
        after = [*self.content, self._stored(data)]
        return Call("end a transaction", self._append(data, AppendOrigin.COORDINATOR), after)

    def assign_epoch(self) -> Call:
        self.epoch += 1
        epoch, end = self.epoch, self.log.log_end_offset
        return Call("assign_epoch", lambda: self.log.assign_epoch(epoch, end), self.content, may_poison=False)

    # --- calls that take away

    def truncate_to(self) -> Call:
        ends = [batch.last_offset + 1 for batch in self.content] or [self.log.log_end_offset]
        offset = self.rng.choice(ends[-12:])
        self.start = min(self.start, offset)
        after = [batch for batch in self.content if batch.last_offset < offset]
        return Call("truncate_to", lambda: self.log.truncate_to(offset), after, may_stop_between=True)

    def truncate_fully(self) -> Call:
        offset = self.log.log_end_offset + 3
        return Call(
            "truncate_fully_and_start_at",
            lambda: self.log.truncate_fully_and_start_at(offset),
            [],
            may_stop_between=True,
        )

    def delete_records(self) -> Call:
        start = self.rng.randrange(self.log.log_start_offset, self.log.log_end_offset + 1)
        self.log.update_high_watermark(self.log.log_end_offset)
        self._begin_at(start)
        return Call("delete_records", lambda: self.log.delete_records(start), self.content)

    def delete_old_segments(self) -> Call:
        self.log.update_high_watermark(self.log.log_end_offset)
        self._begin_at(self.log.segments[-1].base_offset)
        return Call("delete_old_segments", self.log.delete_old_segments, self.content)

    # --- calls that change no record

    def flush(self) -> Call:
        return Call("flush", self.log.flush, self.content, may_poison=False)

    def roll(self) -> Call:
        return Call("roll", self.log.roll, self.content, may_poison=False)

    def read(self) -> Call:
        offset = self.rng.randrange(self.log.log_start_offset, self.log.log_end_offset + 1)
        isolation = self.rng.choice(list(Isolation))
        return Call("read", lambda: self.log.read(offset, 1_000, isolation=isolation), self.content, may_poison=False)

    def search(self) -> Call:
        timestamp = NOW + self.rng.randrange(-5, 1_000)
        return Call(
            "offset_for_timestamp", lambda: self.log.offset_for_timestamp(timestamp), self.content, may_poison=False
        )

    def update_high_watermark(self) -> Call:
        end = self.log.log_end_offset
        return Call(
            "update_high_watermark", lambda: self.log.update_high_watermark(end), self.content, may_poison=False
        )

    def expire_producers(self) -> Call:
        return Call("expire_producers", self.log.expire_producers, self.content, may_poison=False)

    # --- its ends

    def close(self) -> Call:
        return Call("close", self.log.close, self.content)

    def reopen(self) -> Call:
        self.log.close()
        return Call("open", self._reopen, self.content)

    def recover(self) -> Call:
        return Call("recover", self._recover, self.content)

    def leave(self) -> Call:
        return Call("leave a with block", lambda: self.log.__exit__(None, None, None), self.content)

    def _reopen(self) -> None:
        self.log = self.open()

    def _recover(self) -> None:
        self.log = self.log.recover()

    calls: ClassVar[dict[Callable[["Life"], Call], int]] = {
        lead: 8,
        lead_records: 3,
        follow: 8,
        produce: 3,
        end_transaction: 2,
        assign_epoch: 1,
        truncate_to: 4,
        truncate_fully: 1,
        delete_records: 1,
        delete_old_segments: 1,
        flush: 3,
        roll: 2,
        read: 1,
        search: 1,
        update_high_watermark: 1,
        expire_producers: 1,
        close: 1,
        reopen: 1,
        recover: 1,
        leave: 1,
    }

    # --- what is known

    def know(self, content: Content) -> None:
        """Take what the log was found to hold for what it holds."""
        was_cut = content[: len(self.content)] != self.content
        for batch in content[len(self.content) :]:
            [read] = read_batches(memoryview(batch.data))
            if read.is_control:
                self._has_transaction = False
            elif read.producer_id >= 0:
                self._sequences[read.producer_id] = self._sequences.get(read.producer_id, 0) + 1
                self._has_transaction = True
        if was_cut:
            # What is left of its sequence numbers is another matter.
            self._producer += 1
            self._has_transaction = False
        self.content = content
        if not content:
            self.start = min(self.start, self.log.log_end_offset)

    def _begin_at(self, offset: int) -> None:
        """Look at nothing before this offset from now on."""
        self.start = max(self.start, offset)
        kept = [batch for batch in self.content if batch.last_offset >= self.start]
        if len(kept) < len(self.content):
            self.content = kept
            self._producer += 1
            self._has_transaction = False

    def _append(self, data: bytes | list[Record], origin: AppendOrigin = AppendOrigin.CLIENT) -> Callable[[], object]:
        epoch, version = self.epoch, 1 if origin is AppendOrigin.COORDINATOR else None
        return lambda: self.log.append(data, leader_epoch=epoch, origin=origin, transaction_version=version)

    def _record(self, size: int) -> Record:
        number = next(self._numbers)
        return Record.of(b"%d " % number + bytes(self.rng.randrange(size)), timestamp=NOW + number % 1_000)

    def _batch(self, size: int) -> bytes:
        return bytes(encode_batch([self._record(size) for _ in range(self.rng.randrange(1, 4))]))

    def _stored(self, data: bytes, offset: int | None = None) -> StoredBatch:
        """Return a batch as the log stores it: offset and epoch are the leader's, and outside of the checksum."""
        offset = self.log.log_end_offset if offset is None else offset
        placed = offset.to_bytes(8) + data[8:12] + self.epoch.to_bytes(4) + data[16:]
        [batch] = read_batches(memoryview(placed))
        return StoredBatch(offset, batch.last_offset, self.epoch, placed)
