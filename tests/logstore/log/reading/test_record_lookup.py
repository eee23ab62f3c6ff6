"""`Log.get` beside a read of the whole log: whatever is done to the log, both have the same records."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from unittest.mock import patch

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from logstore import BatchTemplate, CorruptBatchError, Log, LogClosedError, LogConfig, Record
from logstore.batch.compression.codec import Codec
from logstore.log.frozen_log import FrozenLog
from logstore.log.reading import record_lookup
from tests.logstore.batches import batch, record

BACK = st.integers(0, 12)
RECORDS = st.lists(
    st.tuples(
        st.sampled_from([b"a", b"b", b"c", b"d"]),
        st.none() | st.binary(max_size=90),
        st.dictionaries(st.sampled_from(["x", "y"]), st.binary(max_size=3), max_size=2),
    ),
    min_size=1,
    max_size=9,
)
CONFIG = LogConfig(cleanup_policy={"compact", "delete"}, retention_ms=-1, file_delete_delay_ms=0)


def map_all(log: Log | FrozenLog) -> None:
    """As a log is once it was read for some time: kernels look at what is mapped."""
    for segment in log.segments:
        segment.file.data()


class LookupMachine(RuleBasedStateMachine):
    """Each record is looked up after each step, and many times: what is remembered of it must not outlive it."""

    @initialize(
        segment_bytes=st.sampled_from([400, 2_000, 100_000]),
        interval=st.sampled_from([0, 150, 4096]),
        is_mapped=st.booleans(),
    )
    def begin(self, segment_bytes: int, interval: int, is_mapped: bool) -> None:
        self.is_mapped = is_mapped
        self.root = Path(mkdtemp(prefix="epochlog-"))
        self.config = replace(CONFIG, segment_bytes=segment_bytes, index_interval_bytes=interval)
        self.log = Log.open(self.root / "t-0", self.config)
        self.epoch = 0

    def teardown(self) -> None:
        if hasattr(self, "log"):
            self.log.close()
            rmtree(self.root)

    @rule(rows=RECORDS, codec=st.sampled_from(Codec), later=st.booleans())
    def append(self, rows: list[tuple[bytes, bytes | None, dict[str, bytes]]], codec: Codec, later: bool) -> None:
        reserved, latest = self.log.epochs.reserved, self.log.epochs.latest_epoch
        self.epoch = max(self.epoch + later, reserved.epoch if reserved else 0, latest or 0)
        records = [Record.of(value, key, headers=headers) for key, value, headers in rows]
        self.log.append(records, leader_epoch=self.epoch, template=BatchTemplate(codec=codec))

    @rule(back=BACK)
    def truncate(self, back: int) -> None:
        self.log.truncate_to(max(self.log.log_end_offset - back, self.log.log_start_offset))

    @rule(back=BACK)
    def trim(self, back: int) -> None:
        self.log.flush()
        self.log.trim(before=max(self.log.high_watermark - back, self.log.log_start_offset))

    @rule()
    def compact(self) -> None:
        self.log.roll()
        self.log.flush()
        self.log.compact()

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
        self.log = Log.open(self.root / "t-0", self.config)

    @invariant()
    def each_record_is_found(self) -> None:
        if not hasattr(self, "log"):
            return
        log = self.log
        if self.is_mapped:
            map_all(log)
        expected = {record.offset: record for record in log.records()}
        for offset in range(log.log_start_offset, log.log_end_offset):
            assert log.get(offset) == expected.get(offset)


LookupMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
test_a_record_is_what_a_read_of_all_has = LookupMachine.TestCase


@pytest.fixture(params=list(Codec), ids=lambda codec: codec.name.lower())
def log(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Log]:
    """Compressed or not, of two segments, with headers in every other batch."""
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        for number in range(20):
            records = [Record.of(b"%d" % each, b"k", headers={"h": b"1"} if number & 1 else {}) for each in range(9)]
            log.append(records, template=BatchTemplate(codec=request.param))
            if number == 9:
                log.roll()
        map_all(log)
        yield log


def test_what_is_mapped_is_found_at_a_glance(log: Log) -> None:
    expected = list(log.records())
    with patch.object(record_lookup, "record_at", side_effect=AssertionError("looked closer")):
        found = [log.get(offset) for offset in range(180)]
    assert found == expected


def test_records_that_took_the_place_of_others_are_not_taken_for_them(log: Log) -> None:
    before = log.get(175)
    log.truncate_to(171)
    records = [Record.of(b"%d" % each, b"K") for each in range(9)]
    codec = next(log.read(0, 0).batches()).attributes & 7
    log.append(records, template=BatchTemplate(codec=Codec(codec)))
    map_all(log)
    after = log.get(175)
    assert before is not None
    assert after is not None
    assert (before.key, after.key) == (b"k", b"K")


def test_one_batch_is_decompressed_once(log: Log) -> None:
    batches = list(log.read(0, 1 << 20).batches())
    is_compressed = bool(batches[0].attributes & 7)
    log.get(100)
    with patch.object(type(batches[0]), "section", side_effect=AssertionError("decompressed")):
        for offset in range(99, 108) if is_compressed else ():
            assert log.get(offset) is not None


def test_damage_is_told_also_behind_one_that_was_found(log: Log) -> None:
    assert log.get(175) is not None
    segment = log.segments[1]
    position = next(each.position for each in segment.batches() if each.last_offset >= 175)
    with segment.path.open("r+b") as file:
        file.seek(position + 70)
        byte = file.read(1)
        file.seek(position + 70)
        file.write(bytes([byte[0] ^ 1]))
    with pytest.raises(CorruptBatchError):
        log.get(175)


def test_a_closed_log_is_refused(log: Log) -> None:
    log.close()
    with pytest.raises(LogClosedError):
        log.get(5)


def test_a_compacted_batch_gives_what_is_left_of_it(tmp_path: Path) -> None:
    left = batch(records=[record(offset_delta=delta, value=b"%d" % delta) for delta in (1, 4)], last_offset_delta=5)
    with Log.open(tmp_path / "t-0", replicated=True) as log:
        log.append_batches(left)
        map_all(log)
        assert [each and each.value for each in map(log.get, range(6))] == [None, b"1", None, None, b"4", None]
