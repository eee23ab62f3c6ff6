"""Records decoded and encoded beside aiokafka, the fastest client of Python: its compiled reader and builder."""

import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bench.peer.files import FIRST_TIMESTAMP, ONE_SEGMENT, SMALL_BATCH, Logs, decoded, value
from bench.peer.kafka_timer import KafkaTimer
from bench.peer.turns import Settings, Timed, take_turns
from bench.results import OURS, Row
from logstore.append.encoding import encode_columns, encode_values
from logstore.batch.any_batch import Batch
from logstore.batch.batches import read_batches
from logstore.batch.columns import RecordColumns
from logstore.batch.record import Record
from logstore.offline.log_file import LogFile
from logstore.segment.read_view import ReadView

if TYPE_CHECKING:
    from aiokafka.record.default_records import DefaultRecord

AIOKAFKA: Final = "aiokafka"
MOST_BYTES: Final = 64 << 20
"""Of records decoded in a round."""
RECORDS: Final = 148 * 128
"""Encoded in a round: two megabytes, which stay in the cache."""
Encode = Callable[[], memoryview]


def aiokafka_version() -> str:
    """Return which aiokafka is installed; nothing where none is."""
    try:
        return version(AIOKAFKA)
    except PackageNotFoundError:
        return ""


class ClientWorks:
    """aiokafka makes an object for each record; we make columns or objects, and take columns or lists of bytes."""

    group = "clients"
    timer = ""

    def __init__(self, settings: Settings, logs: Logs, _kafka: KafkaTimer | None) -> None:
        self._settings = settings
        self._logs = logs

    def works(self) -> dict[str, Callable[[str], Row]]:
        """Return all kinds of work by name."""
        works: dict[str, Callable[[str], Row]] = {
            "records as columns, beside aiokafka": self._decode,
            "records as objects, beside aiokafka": self._objects,
            "encode from columns, beside aiokafka": partial(self._encode, _from_columns),
            "encode from lists of bytes, beside aiokafka": partial(self._encode, _from_lists),
        }
        return works if aiokafka_version() else dict.fromkeys(works, self._skipped)

    def _skipped(self, name: str) -> Row:
        return Row(name, group=self.group, skipped=f"{AIOKAFKA} is not installed")

    def _decode(self, name: str) -> Row:
        size = min(self._settings.size, MOST_BYTES)
        directory, end = self._logs.log(f"decode-{size}", size, ONE_SEGMENT)
        [path] = directory.glob("*.log")
        data = path.read_bytes()
        file = LogFile(memoryview(data))
        answer = sum(int((records.offset + records.timestamp).sum()) for records in decoded(file))
        their_answer = sum(record.offset + record.timestamp for record in _their_records(data))

        def ours() -> Timed:
            spent, _ = self._settings.time(lambda: sum(map(len, decoded(file))))
            return Timed(spent, answer)

        def theirs() -> Timed:
            # A deque without room takes all records out and keeps none: the least that can be done with them.
            spent, _ = self._settings.time(lambda: deque(_their_records(data), 0))
            return Timed(spent, their_answer)

        row = Row(name, items=end, unit="records", group=self.group)
        return take_turns(row, {OURS: ours, AIOKAFKA: theirs}, self._settings)

    def _objects(self, name: str) -> Row:
        """Make an object of each record, on both sides, with checksums verified."""
        size = min(self._settings.size, MOST_BYTES)
        directory, end = self._logs.log(f"decode-{size}", size, ONE_SEGMENT)
        [path] = directory.glob("*.log")
        data = path.read_bytes()

        def take(records: Callable[[bytes], Iterable[Any]]) -> Timed:
            answer = sum(len(record.value or b"") for record in records(data))
            spent, _ = self._settings.time(lambda: deque(records(data), 0))
            return Timed(spent, answer)

        def our_records(data: bytes) -> Iterator[Record]:
            return ReadView(0, memoryview(data)).records()

        row = Row(name, items=end, unit="records", group=self.group)
        their_records = partial(_their_records, check=True)
        return take_turns(
            row, {OURS: partial(take, our_records), AIOKAFKA: partial(take, their_records)}, self._settings
        )

    def _encode(self, make: Callable[[list[bytes]], Encode], name: str) -> Row:
        rng = random.Random(1)
        values = [value(rng) for _ in range(RECORDS)]
        encode = make(values)

        def ours() -> Timed:
            spent, batches = self._settings.time(encode)
            return Timed(spent, _checksums(read_batches(memoryview(batches))))

        def theirs() -> Timed:
            spent, batches = self._settings.time(lambda: _their_batches(values))
            return Timed(spent, _checksums(chain.from_iterable(read_batches(memoryview(batch)) for batch in batches)))

        row = Row(name, items=RECORDS, unit="records", group=self.group)
        return take_turns(row, {OURS: ours, AIOKAFKA: theirs}, self._settings)


def _from_lists(values: list[bytes]) -> Encode:
    return lambda: encode_values(values, FIRST_TIMESTAMP)


def _from_columns(values: list[bytes]) -> Encode:
    nowhere, lengths = np.zeros(len(values), np.int64), np.array(list(map(len, values)), np.int32)
    columns = RecordColumns(
        data=np.frombuffer(b"".join(values), np.uint8),
        batch=nowhere,
        offset=nowhere,
        timestamp=np.full(len(values), FIRST_TIMESTAMP),
        key_start=nowhere,
        key_length=np.full(len(values), -1, np.int32),
        value_start=np.cumsum(lengths) - lengths,
        value_length=lengths,
        headers_start=nowhere,
        header_count=np.zeros(len(values), np.int32),
    )
    return lambda: encode_columns(columns)


def _checksums(batches: Iterable[Batch]) -> int:
    """Add up what tells whether batches are the same, except the offsets that a leader gives them."""
    return sum(batch.crc + batch.size for batch in batches)


def _their_records(data: bytes, *, check: bool = False) -> "Iterator[DefaultRecord]":
    from aiokafka.record.memory_records import MemoryRecords  # noqa: PLC0415  it may not be there

    batches = MemoryRecords(data)
    while batches.has_next():
        batch = batches.next_batch()
        if check and not batch.validate_crc():
            raise ValueError("a checksum does not match")
        yield from batch


def _their_batches(values: list[bytes]) -> list[bytearray]:
    from aiokafka.record.default_records import DefaultRecordBatchBuilder  # noqa: PLC0415  it may not be there

    def builder() -> DefaultRecordBatchBuilder:
        return DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, SMALL_BATCH)

    batches, open_batch, count = [], builder(), 0
    for content in values:
        if open_batch.append(count, FIRST_TIMESTAMP, None, content, []) is None:
            batches.append(open_batch.build())
            open_batch, count = builder(), 0
            open_batch.append(0, FIRST_TIMESTAMP, None, content, [])
        count += 1
    return [*batches, open_batch.build()]
