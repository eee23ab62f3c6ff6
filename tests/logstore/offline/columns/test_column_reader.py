"""Records as columns and as Arrow's: those that are found one by one, with the same errors."""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logstore import Isolation, Log, LogConfig, LogFile, PartitionDirectory, Record, RecoveredLog
from logstore.batch.batch_order import NO_SURROUNDINGS, BatchOrder
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.columns import RecordColumns
from logstore.batch.compression.codec import Codec
from logstore.errors import LogStoreError
from logstore.offline.columns import view_columns
from logstore.offline.columns.arrow_records import RECORDS
from logstore.segment.ordered_records import ordered_records
from tests.data.replicas import PROJECT
from tests.logstore.batch.test_legacy_batch import message
from tests.logstore.batches import log
from tests.logstore.kernels.sizes import EXAMPLES
from tests.logstore.kernels.strategies import CONTENT, LYING_BATCHES, ODD_BATCHES, SOUND_BATCHES, damaged
from tests.logstore.segment.test_view_records import WRITTEN, placed

OLD = st.builds(message, st.just(0), CONTENT, key=CONTENT, magic=st.sampled_from([0, 1]))
LOGS = st.lists(WRITTEN | OLD | SOUND_BATCHES | ODD_BATCHES, max_size=6).map(placed) | st.lists(
    WRITTEN | SOUND_BATCHES | LYING_BATCHES, max_size=4
).map(b"".join)
Plain = tuple[int, int, bytes | None, bytes | None, int]
TRANSACTIONAL = BatchTemplate(producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)


def plain_records(columns: Iterable[RecordColumns]) -> Iterator[Plain]:
    """Take records out of columns, one by one."""
    for each in columns:
        data = each.data.tobytes()
        for row in range(len(each)):
            key, value = (
                None if length < 0 else data[start : start + length]
                for start, length in (
                    (each.key_start[row], each.key_length[row]),
                    (each.value_start[row], each.value_length[row]),
                )
            )
            yield int(each.offset[row]), int(each.timestamp[row]), key, value, int(each.header_count[row])


def expected(data: bytes, start: int, end: int | None) -> tuple[list[Plain], str]:
    """What plain readers find: whole batches up to an error, and the error."""
    found: list[Plain] = []
    last, order = -1, BatchOrder()
    batches = LogFile(memoryview(data)).batches()
    try:
        while (end is None or last < end - 1) and (each := next(batches, None)):
            each.ensure_valid()
            order.take(each, NO_SURROUNDINGS)
            last = each.last_offset
            if not each.is_control and last >= start and (end is None or each.base_offset < end):
                found.extend(
                    (one.offset, one.timestamp, one.key, one.value, len(one.headers))
                    for one in list(ordered_records(each))
                    if one.offset >= start and (end is None or one.offset < end)
                )
    except LogStoreError as error:
        return found, f"{type(error).__name__}: {error}"
    return found, ""


def agrees(data: bytes, start: int = 0, end: int | None = None) -> list[Plain]:
    records, told = expected(data, start, end)
    found: list[Plain] = []
    error = ""
    try:
        for each in plain_records(LogFile(memoryview(data)).columns(start, end)):
            found.append(each)  # noqa: PERF402  what comes before an error counts
    except LogStoreError as raised:
        error = f"{type(raised).__name__}: {raised}"
    assert found == records
    assert error.startswith(told) if told else not error
    return found


@settings(max_examples=EXAMPLES)
@given(LOGS, st.integers(0, 30), st.none() | st.integers(0, 60))
def test_columns_hold_what_is_found_one_by_one(data: bytes, start: int, end: int | None) -> None:
    agrees(data, start, end)


@settings(max_examples=EXAMPLES)
@given(damaged(LOGS), st.integers(0, 30), st.none() | st.integers(0, 60))
def test_columns_of_damaged_logs_end_where_and_as_one_by_one(data: bytes, start: int, end: int | None) -> None:
    agrees(data, start, end)


def written(codec: Codec) -> list[Record]:
    headers = {"trace": "a1", "none": None}
    return [Record.of(b"v%d" % number, b"k" if number % 3 else None, timestamp=number) for number in range(50)] + [
        Record.of(None, b"gone", timestamp=50, headers=headers if codec else {})
    ]


@pytest.mark.parametrize("codec", Codec)
def test_arrow_s_rows_are_the_records(codec: Codec, tmp_path: Path) -> None:
    records = written(codec)
    with Log.open(tmp_path / "t-0") as log:
        for epoch in range(3):
            log.append(records, leader_epoch=epoch, template=BatchTemplate(codec=codec))
        table = log.to_arrow(10, 140)
        rows = [record for record in log.read(0, 1 << 20).records() if 10 <= record.offset < 140]
    assert table.schema == RECORDS
    table.validate(full=True)
    assert table["offset"].to_pylist() == [each.offset for each in rows]
    assert table["timestamp"].cast(pa.int64()).to_pylist() == [each.timestamp for each in rows]
    assert table["leader_epoch"].to_pylist() == [each.offset // 51 for each in rows]
    assert table["key"].to_pylist() == [each.key for each in rows]
    assert table["value"].to_pylist() == [each.value for each in rows]
    headers = [[{"key": key, "value": value} for key, value in each.headers] or None for each in rows]
    assert table["headers"].to_pylist() == headers


def test_a_log_in_use_gives_what_may_be_read_of_it(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0") as log:
        log.append([Record.of(b"a")] * 3, leader_epoch=0)
        log.append([Record.of(b"b")], leader_epoch=0, template=TRANSACTIONAL)
        log.append_end_transaction(7, 0, commit=False, leader_epoch=0)
        log.append([b"c"], leader_epoch=0)
        log.update_high_watermark(5)

        def values(isolation: Isolation) -> list[bytes]:
            return log.to_arrow(1, isolation=isolation)["value"].to_pylist()

        assert values(Isolation.LOG_END) == [b"a", b"a", b"b", b"c"]
        assert values(Isolation.HIGH_WATERMARK) == [b"a", b"a", b"b"]
        assert values(Isolation.READ_COMMITTED) == [b"a", b"a"]
        assert [value for _, _, _, value, _ in plain_records(log.columns(3))] == [b"b", b"c"]
        assert log.to_arrow(6).num_rows == 0


def test_all_segments_are_read_and_reads_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_columns, "READ_BYTES", 1_000)
    with Log.open(tmp_path / "t-0", LogConfig(segment_bytes=5_000)) as log:
        for _ in range(60):
            log.append([b"v" * 300], leader_epoch=0)
        assert len(log.segments) > 3
        assert [each.offset.tolist() for each in log.columns(57)] == [[57], [58], [59]] or log.to_arrow(
            57
        ).num_rows == 3
        assert log.to_arrow(0)["offset"].to_pylist() == list(range(60))
    recovered = RecoveredLog.load(PartitionDirectory.open(tmp_path / "t-0"))
    assert recovered.to_arrow(3, 50)["offset"].to_pylist() == list(range(3, 50))


def test_what_recovery_drops_is_not_among_the_columns(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0") as log:
        for _ in range(4):
            log.append([b"v"], leader_epoch=0)
    [path] = (tmp_path / "t-0").glob("*.log")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    (tmp_path / "t-0" / ".kafka_cleanshutdown").unlink()
    assert RecoveredLog.load(PartitionDirectory.open(tmp_path / "t-0")).to_arrow()["offset"].to_pylist() == [0, 1, 2]


def test_messages_of_older_magics_are_rows_too() -> None:
    assert len(agrees(message(0, b"old") + placed([log(1)] * 2)[len(log(1)) :])) == 4


def test_an_error_comes_after_the_batches_before_it() -> None:
    data = bytearray(log(3))
    data[-1] ^= 1
    batches = iter(LogFile(memoryview(data)).arrow_batches())
    assert next(batches).num_rows == 6
    with pytest.raises(LogStoreError, match="the checksum of the batch of"):
        next(batches)


def test_without_pyarrow_the_error_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "0.log").write_bytes(log(1))
    program = f"""
import sys
sys.modules["pyarrow"] = None
from logstore import LogFile
file = LogFile.open({str(tmp_path / "0.log")!r})
assert sum(map(len, file.columns())) == 3
file.to_arrow()
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )
    assert (
        "Arrow's tables need pyarrow: install the extra `arrow`, in a checkout: pip install '.[arrow]'" in done.stderr
    )
