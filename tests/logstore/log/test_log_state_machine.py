"""A log beside a plain list of batches: whatever is done, both say the same."""

from bisect import bisect_right
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from epoch.history import EpochHistory
from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.compression.codec import Codec
from logstore.batch.record import Record
from logstore.errors import FencedLeaderEpochError, OffsetOutOfRangeError, UnexpectedAppendOffsetError
from logstore.log.log import Log
from logstore.log_config import LogConfig
from tests.logstore.directories import GAPS, assert_sound

VALUES = st.lists(st.binary(max_size=60), min_size=1, max_size=4)
BACK = st.integers(0, 30)


class Written(NamedTuple):
    """A batch in the model."""

    base_offset: int
    end_offset: int
    values: list[bytes]
    epoch: int


class LogMachine(RuleBasedStateMachine):
    """Truncation drops whole batches; everything else is a list."""

    replicated = True

    @initialize(
        segment_bytes=st.sampled_from([300, 1_000, 100_000]),
        interval=st.sampled_from([0, 150, 4096]),
        codec=st.sampled_from(Codec),
    )
    def begin(self, segment_bytes: int, interval: int, codec: Codec) -> None:
        self.codec = codec
        self.root = Path(mkdtemp(prefix="epochlog-"))
        self.config = LogConfig(
            segment_bytes=segment_bytes,
            index_interval_bytes=interval,
            file_delete_delay_ms=0,
            retention_ms=-1,
            message_timestamp_after_max_ms=2**63 - 1,
        )
        self.log = self.open_log()
        self.batches: list[Written] = []
        self.start = self.end = 0
        self.epoch = 0
        self.epochs = EpochHistory()

    def teardown(self) -> None:
        if hasattr(self, "log"):
            self.log.close()
            assert_sound(self.root / "t-0", self.log.log_start_offset, expected=GAPS)
            rmtree(self.root)

    def open_log(self) -> Log:
        return Log.open(self.root / "t-0", self.config, replicated=self.replicated)

    def add(self, base_offset: int, values: list[bytes]) -> None:
        self.batches.append(Written(base_offset, base_offset + len(values), values, self.epoch))
        self.end = base_offset + len(values)
        self.epochs = self.epochs.assign(self.epoch, base_offset)

    def begin_epoch(self) -> None:
        """Be elected anew where the log needs that."""

    @rule(values=VALUES, later=st.booleans())
    def append(self, values: list[bytes], later: bool) -> None:
        self.epoch += later
        self.begin_epoch()
        records = [Record(0, offset, b"k", value) for offset, value in enumerate(values, self.end)]
        info = self.log.append(records, leader_epoch=self.epoch, template=BatchTemplate(codec=self.codec))
        assert (info.first_offset, info.last_offset) == (self.end, self.end + len(values) - 1)
        self.add(self.end, values)

    @rule(values=VALUES, gap=st.sampled_from([0, 0, 0, 2]))
    def append_as_follower(self, values: list[bytes], gap: int) -> None:
        base_offset = self.end + gap
        records = [Record(0, offset, b"k", value) for offset, value in enumerate(values, base_offset)]
        template = BatchTemplate(base_offset=base_offset, leader_epoch=self.epoch, codec=self.codec)
        data = bytes(encode_batch(records, template))
        self.log.append_batches(data + data[: len(data) // 2])
        self.add(base_offset, values)
        with pytest.raises(UnexpectedAppendOffsetError):
            self.log.append_batches(data)

    @rule(back=BACK)
    def truncate(self, back: int) -> None:
        offset = max(self.end - back, self.start)
        assert self.log.truncate_to(offset) == (offset < self.end)
        self.batches = [batch for batch in self.batches if batch.end_offset <= offset]
        self.end = min(offset, self.end)
        self.epochs = self.epochs.truncate_to(self.end)

    @rule(ahead=st.integers(0, 10))
    @precondition(lambda self: self.end > 0)
    def truncate_fully(self, ahead: int) -> None:
        self.start = self.end = self.end + ahead
        self.log.truncate_fully_and_start_at(self.end)
        self.batches, self.epochs = [], EpochHistory()

    @rule(back=BACK)
    def delete_records(self, back: int) -> None:
        before = max(self.end - back, self.start)
        self.log.update_high_watermark(self.end)
        assert self.log.delete_records(before) == (before > self.start)
        self.log.delete_old_segments()
        if before > self.start:
            self.epochs = self.epochs.truncate_from_start(before)
        self.start = before

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule(clean=st.booleans())
    def reopen(self, clean: bool) -> None:
        if clean:
            self.log.close()
        else:
            self.log.flush()
            self.log.abandon()
        self.log = self.open_log()
        # A gap at the end is not on disk; where that takes the end below the start, the log begins anew at the start.
        last = self.batches[-1].end_offset if self.batches else self.log.segments[0].base_offset
        self.end = max(last, self.log.segments[-1].base_offset, self.start)
        self.epochs = self.epochs.truncate_to(self.end)
        if not clean:
            # Recovery goes over the last segment, and learns from batches below the log's start too who led there.
            recovered = self.log.segments[-1].base_offset
            told = [(batch.epoch, batch.base_offset) for batch in self.batches if batch.base_offset >= recovered]
            self.epochs = self.epochs.reconcile(told, log_start_offset=self.start, log_end_offset=self.end)

    @rule(offset=st.integers(0, 60), max_bytes=st.sampled_from([0, 100, 1_000, 1 << 20]))
    def read(self, offset: int, max_bytes: int) -> None:
        offset = min(self.start + offset, self.end)
        found = [batch.base_offset for batch in self.log.read(offset, max_bytes).batches()]
        expected = [batch.base_offset for batch in self.batches if batch.end_offset > offset]
        assert found == expected[: len(found)]
        assert bool(found) == bool(expected)

    @rule(timestamp=st.integers(0, 120))
    def find_timestamp(self, timestamp: int) -> None:
        found = self.log.offset_for_timestamp(timestamp)
        ends = [batch.end_offset for batch in self.batches]
        target = max(timestamp, self.start)
        number = bisect_right(ends, target)
        expected = max(target, self.batches[number].base_offset) if number < len(ends) else None
        assert (found.offset if found else None) == expected

    @invariant()
    def everything_can_be_read(self) -> None:
        if not hasattr(self, "log"):
            return
        log = self.log
        assert (log.log_start_offset, log.log_end_offset) == (self.start, self.end)
        self.check_epochs()
        found, offset = [], self.start
        while (view := log.read(offset, 1 << 20)).data:
            found += [(record.offset, record.value) for record in view.records()]
            offset = list(view.batches())[-1].last_offset + 1
        values = [pair for batch in self.batches for pair in enumerate(batch.values, batch.base_offset)]
        assert found == [pair for pair in values if pair[0] >= self.start]
        with pytest.raises(OffsetOutOfRangeError):
            log.read(self.end + 1, 1)

    def check_epochs(self) -> None:
        assert self.log.epochs.entries == self.epochs.entries


class OnlyCopyMachine(LogMachine):
    """The log may have reserved an epoch for what is appended after a recovery or a cut; each batch is in its own."""

    replicated = False

    def begin_epoch(self) -> None:
        reserved, latest = self.log.epochs.reserved, self.log.epochs.latest_epoch
        if reserved is None or self.epoch >= reserved.epoch or self.epoch == latest == reserved.epoch - 1:
            return
        with pytest.raises(FencedLeaderEpochError, match=f"epoch {self.epoch} is over"):
            self.log.append([b"value"], leader_epoch=self.epoch)
        self.epoch = reserved.epoch

    def check_epochs(self) -> None:
        for batch in self.batches:
            if batch.base_offset >= self.start:
                assert self.log.epochs.epoch_for_offset(batch.base_offset) == batch.epoch


LogMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
OnlyCopyMachine.TestCase.settings = LogMachine.TestCase.settings
test_a_log_is_a_list_of_batches = LogMachine.TestCase
test_the_only_copy_is_one_too = OnlyCopyMachine.TestCase
