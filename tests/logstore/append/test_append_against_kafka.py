"""What a leader and a follower take, refuse and remember: the same as Kafka's UnifiedLog, on the same batches."""

import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from logstore.append.append_validation import ValidatedAppend, validate_for_follower, validate_for_leader
from logstore.append.encoding import encode_batch
from logstore.batch.append_origin import AppendOrigin
from logstore.batch.batch import RecordBatch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.compression.codec import Codec
from logstore.batch.record import Header, Record
from logstore.errors import InvalidTimestampError, LogStoreError, OffsetsOutOfOrderError
from logstore.files.producer_snapshot import ProducerSnapshot
from logstore.log_config import LogConfig
from logstore.offline.log_file import LogFile
from logstore.producers.producer_state import ProducerState
from tests.campaign import Campaign
from tests.logstore import batches
from tests.oracle.kafka import JavaProgram

KAFKAS_NAME = {
    "CorruptBatchError": "CorruptRecordException",
    "InvalidBatchHeaderError": "CorruptRecordException",
    "InvalidRecordError": "InvalidRecordException",
    "InvalidTimestampError": "InvalidTimestampException",
    "RecordTooLargeError": "RecordTooLargeException",
    "OffsetsOutOfOrderError": "OffsetsOutOfOrderException",
    "UnexpectedAppendOffsetError": "UnexpectedAppendOffsetException",
    "OutOfOrderSequenceError": "OutOfOrderSequenceException",
    "InvalidProducerEpochError": "InvalidProducerEpochException",
    "InvalidTransactionStateError": "InvalidTxnStateException",
    "TransactionCoordinatorFencedError": "TransactionCoordinatorFencedException",
    "DecompressionError": "KafkaException",
}
CONFIGS = (
    {},
    {"message.timestamp.type": "LogAppendTime"},
    {"compression.type": "uncompressed"},
    {"compression.type": "lz4", "message.timestamp.type": "LogAppendTime"},
    {"compression.type": "zstd", "cleanup.policy": "compact"},
    {"compression.type": "snappy", "max.message.bytes": "400"},
    {"compression.type": "gzip"},
)
ORACLES_NAME = {
    "message.timestamp.type": "timestampType",
    "compression.type": "compressionType",
    "cleanup.policy": "cleanup",
    "max.message.bytes": "maxMessageBytes",
}
ANSWER = re.compile(r"(-?\d+) (-?\d+) maxTs=(-?\d+) bytes=(\d+)")


class OurLog:
    """As much of a log as validation and producer state are: it keeps what they would have it write."""

    def __init__(self, directory: Path, config: LogConfig) -> None:
        self.config = config
        self.producers = ProducerState(directory)
        self.data = bytearray()
        self.aborted = b""
        self.end_offset = 0
        self.high_watermark = 0

    def lead(self, data: bytes, origin: AppendOrigin, now_ms: int) -> str:
        append = validate_for_leader(
            data, next_offset=self.end_offset, leader_epoch=0, now_ms=now_ms, config=self.config, origin=origin
        )
        return self.write(append, origin, RecordBatch(memoryview(data)).size if append.batches else 0)

    def follow(self, data: bytes) -> str:
        append = validate_for_follower(data, next_offset=self.end_offset, leader_epoch=0)
        return self.write(append, AppendOrigin.REPLICATION, len(append.data))

    def write(self, append: ValidatedAppend, origin: AppendOrigin, size: int) -> str:
        if not append.batches:
            return "-1 -1 maxTs=-1 bytes=0"
        producers = self.producers.prepare(append.batches, origin, transaction_version=1)
        duplicate = producers.duplicate
        if duplicate:
            return f"{duplicate.first_offset} {duplicate.last_offset} maxTs={append.max_timestamp} bytes={size}"
        self.data += append.data
        self.aborted += b"".join(each.encode() for each in self.producers.update(producers))
        self.end_offset = self.producers.end_offset = append.last_offset + 1
        return f"{append.first_offset} {append.last_offset} maxTs={append.max_timestamp} bytes={size}"

    def last_stable_offset(self) -> int:
        unstable = self.producers.first_unstable_offset
        return self.high_watermark if unstable is None else min(unstable, self.high_watermark)


class Step:
    """A command for Kafka, and the same for us; `now_ms` is what Kafka's clock turned out to say."""

    def __init__(self, command: str, ours: Callable[[OurLog, int], str]) -> None:
        self.command = command
        self.ours = ours

    def run(self, log: OurLog, kafkas: str) -> str:
        told = ANSWER.fullmatch(kafkas)
        try:
            return self.ours(log, int(told[3]) if told else 5_000)
        except LogStoreError as error:
            return f"ERR {KAFKAS_NAME[type(error).__name__]}"


def lead(data: bytes) -> Step:
    return Step(f"appendLeaderHex 0 {data.hex()}", lambda log, now: log.lead(data, AppendOrigin.CLIENT, now))


def follow(data: bytes) -> Step:
    return Step(f"appendFollowerHex 0 {data.hex()}", lambda log, _: log.follow(data))


def end_transaction(producer_id: int, epoch: int, *, commit: bool) -> Step:
    marker = Record(0, 4_000, bytes([0, 0, 0, commit]), bytes(6))
    template = BatchTemplate(producer_id=producer_id, producer_epoch=epoch, is_transactional=True, is_control=True)
    data = bytes(encode_batch([marker], template))
    return Step(
        f"endTxn 0 {producer_id} {epoch} {'commit' if commit else 'abort'} 4000",
        lambda log, now: log.lead(data, AppendOrigin.COORDINATOR, now),
    )


def replicate(high_watermark: int) -> Step:
    def ours(log: OurLog, _: int) -> str:
        log.high_watermark = min(high_watermark, log.end_offset)
        log.producers.on_high_watermark(log.high_watermark)
        return str(log.high_watermark)

    return Step(f"hw {high_watermark}", ours)


LAST_STABLE = Step("lso", lambda log, _: str(log.last_stable_offset()))


class Script:
    """Random steps; most follow what came before, some do not."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.sequences: dict[tuple[int, int], int] = {}
        self.end_offset = 0
        self.records = 0

    def steps(self, count: int) -> Iterator[Step]:
        for _ in range(count):
            yield self.rng.choices(
                (self.produce, self.end, self.broken, self.fetch, self.hw, lambda: LAST_STABLE), (50, 14, 8, 14, 6, 8)
            )[0]()

    def produce(self) -> Step:
        return lead(bytes(self.batch(self.producer())))

    def end(self) -> Step:
        producer_id, epoch = self.rng.choice([*self.sequences, (9, 0)])
        return end_transaction(producer_id, epoch + self.rng.choice((0, 0, 0, 1, -1)) * (epoch > 0), commit=self.coin())

    def hw(self) -> Step:
        self.end_offset = self.rng.randrange(60)
        return replicate(self.end_offset)

    def fetch(self) -> Step:
        end = self.rng.randrange(60)
        fetched = b""
        for _ in range(self.rng.choice((1, 1, 2))):
            data = self.batch(replace(self.producer(), leader_epoch=0))
            count = RecordBatch(memoryview(data)).record_count
            # Out of order for Kafka too is only what ends no later than what is before it.
            base = end - count if self.rng.random() < 0.1 and count <= end else end
            data[:8] = base.to_bytes(8)
            fetched += data
            end = base + count
        return follow(fetched[: -3 if self.rng.random() < 0.1 else None])

    def producer(self) -> BatchTemplate:
        """Who writes next, and with which numbers."""
        codec = self.rng.choice(list(Codec))
        if self.rng.random() < 0.3:
            return BatchTemplate(codec=codec)
        producer_id = self.rng.choice((1, 1, 2))
        epoch = self.rng.choice((0, 0, 0, 0, 1))
        expected = self.sequences.get((producer_id, epoch), self.rng.choice((0, 0, 2**31 - 3)))
        sequence = self.rng.choice((expected, expected, expected, expected, max(expected - 2, 0), expected + 1, 0))
        return BatchTemplate(
            codec=codec,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence % 2**31,
            is_transactional=self.rng.random() < 0.6,
        )

    def batch(self, template: BatchTemplate) -> bytearray:
        count = self.rng.choice((1, 2, 3, 12))
        if template.producer_id >= 0:
            number = (template.producer_id, template.producer_epoch)
            self.sequences[number] = (template.base_sequence + count) % 2**31
        return encode_batch([self.record() for _ in range(count)], template)

    def record(self) -> Record:
        self.records += 1
        headers = (Header("trace", self.rng.randbytes(3)), Header("", None)) if self.rng.random() < 0.2 else ()
        key = b"k%d" % self.records if self.rng.random() < 0.98 else None
        value = self.rng.choice((None, b"", b"value", b"long" * 40))
        return Record(0, self.rng.randrange(1_000, 3_000), key, value, headers)

    def broken(self) -> Step:
        good = [batches.record(offset_delta=i, key=b"k", value=b"v") for i in range(3)]
        changes = self.rng.choice(WRONG)
        return lead(batches.batch(**{"records": good, **changes}))

    def coin(self) -> bool:
        return self.rng.random() < 0.5


TWO = [batches.record(offset_delta=5, key=b"a"), batches.record(offset_delta=1, key=b"b")]
WRONG: tuple[dict[str, object], ...] = (
    {"base_offset": 3},
    {"crc": 5},
    {"magic": 3},
    {"length": 10},
    {"length": 30},
    {"length": 10_000},
    {"record_count": 0},
    {"record_count": 2},
    {"record_count": -1},
    {"record_count": 4, "last_offset_delta": 3},
    {"last_offset_delta": -1},
    {"attributes": batches.CONTROL},
    {"attributes": batches.LOG_APPEND_TIME},
    {"attributes": 0x4000},
    {"producer_id": 5, "producer_epoch": 0},
    {"max_timestamp": 7},
    {"base_timestamp": -1, "max_timestamp": -1},
    {"records": [batches.record(header_count=-1)]},
    {"records": [batches.record(key=b"k", length=40)]},
    {"records": [batches.record(value=bytes(500), key=b"k")]},
    {"section": b"no frame", "attributes": batches.LZ4},
    {"records": TWO},
)


def kafkas_answer(answer: str) -> str:
    """Kafka's own, but of an error only the class that tells most."""
    if not answer.startswith("ERR"):
        return answer
    wrapped = re.match(r"ERR RecordValidationException \S*?(\w+Exception)", answer)
    return f"ERR {wrapped[1] if wrapped else answer.split()[1]}"


def contents(data: bytes | memoryview) -> list[tuple[object, ...]]:
    """Batches as their headers and decompressed records tell them, without sizes and checksums."""
    return [
        (
            batch.base_offset,
            batch.last_offset,
            batch.leader_epoch,
            batch.attributes,
            batch.base_timestamp,
            batch.max_timestamp,
            batch.producer_id,
            batch.producer_epoch,
            batch.base_sequence,
            batch.is_valid(),
            tuple(batch.records()),
        )
        for batch in LogFile(memoryview(data)).batches()
        if isinstance(batch, RecordBatch)
    ]


def content_of(directory: Path, suffix: str) -> bytes:
    """The files of all segments, one after the other: old timestamps make Kafka roll."""
    return b"".join(path.read_bytes() for path in sorted(directory.glob(f"*.{suffix}")))


LOST_TRANSACTION = "Attempted to complete transaction"
"""Kafka keeps open transactions by their first offset: after a refused append two may share one, and one is lost.

It then refuses the marker, and the sequence cannot go on. Ours goes on knowing both.
"""


def play(oracle: JavaProgram, directory: Path, properties: dict[str, str], steps: list[Step]) -> OurLog:
    """Run a script through both, and compare every answer and what is left on disk."""
    kafkas_dir, our_dir = directory / "kafka/t-0", directory / "ours/t-0"
    our_dir.mkdir(parents=True)
    log = OurLog(our_dir, LogConfig.of({"message.timestamp.after.max.ms": str(2**63 - 1), **properties}))
    options = " ".join(f"{ORACLES_NAME[name]}={value}" for name, value in properties.items())
    opened, *answers = oracle.ask(f"open {kafkas_dir} {options}", *(step.command for step in steps), "close")
    assert opened.startswith("ok")
    assert answers.pop().startswith("ok")
    for number, (step, answer) in enumerate(zip(steps, answers, strict=True)):
        if LOST_TRANSACTION in answer:
            return log
        assert step.run(log, answer) == kafkas_answer(answer), f"step {number}: {step.command}"
    written = content_of(kafkas_dir, "log")
    assert contents(log.data) == contents(written)
    if "compression.type" not in properties:
        assert log.data == written
    assert log.aborted == content_of(kafkas_dir, "txnindex")
    if log.end_offset:
        snapshot = ProducerSnapshot.read(kafkas_dir / f"{log.end_offset:020}.snapshot")
        assert set(log.producers.snapshot().entries) == set(snapshot.entries)
    return log


def test_every_append_is_taken_or_refused_as_kafka_does(log_oracle: JavaProgram, memory_dir: Path) -> None:
    campaign = Campaign("appends against Kafka", full=3_000, share=150)
    appended = 0
    for number in range(campaign.count):
        rng = random.Random(f"{campaign.seed}/{number}")
        steps = list(Script(rng).steps(25))
        directory = memory_dir / f"append-{number}"
        log = play(log_oracle, directory, rng.choice(CONFIGS), steps)
        appended += log.end_offset > 0
    assert appended > campaign.count / 2
    campaign.report(campaign.count, beside=log_oracle.release)


@pytest.mark.parametrize("changes", WRONG, ids=str)
@pytest.mark.parametrize("config", CONFIGS[:3], ids=str)
def test_a_wrong_batch_has_kafkas_error_and_nothing_is_written(
    log_oracle: JavaProgram, tmp_path: Path, config: dict[str, str], changes: dict[str, object]
) -> None:
    good = [batches.record(offset_delta=i, key=b"k", value=b"v") for i in range(3)]
    play(log_oracle, tmp_path, config, [lead(batches.batch(**{"records": good, **changes}))])


def test_a_fetched_batch_that_begins_within_the_one_before_is_refused_though_kafka_takes_it(
    log_oracle: JavaProgram, tmp_path: Path
) -> None:
    three = [batches.record(offset_delta=delta) for delta in range(3)]
    fetched = b"".join(batches.batch(records=three, base_offset=base) for base in (0, 2))
    _, answer, _ = log_oracle.ask(f"open {tmp_path}/t-0", f"appendFollowerHex 0 {fetched.hex()}", "close")
    assert ANSWER.fullmatch(answer), answer
    with pytest.raises(OffsetsOutOfOrderError, match="offsets 2 to 4 follows one up to 2"):
        validate_for_follower(fetched, next_offset=0, leader_epoch=0)


@pytest.mark.parametrize("codec", Codec)
def test_kafka_reads_what_is_encoded_here(log_oracle: JavaProgram, tmp_path: Path, codec: Codec) -> None:
    records = [Record(i, 1_000 + i, None if i % 3 else b"k", b"v" * i, (Header("é", b"1"),)) for i in range(500)]
    data = bytes(encode_batch(records, BatchTemplate(codec=codec)))
    log = play(log_oracle, tmp_path, {"compression.type": "uncompressed"}, [lead(data)])
    assert [record for batch in LogFile(memoryview(log.data)).batches() for record in batch.records()] == records


@pytest.mark.parametrize(
    ("age", "taken"), [(0, True), (50_000, True), (150_000, False), (-500, True), (-60_000, False)]
)
def test_a_timestamp_may_be_as_far_from_the_clock_as_kafka_lets_it(
    log_oracle: JavaProgram, tmp_path: Path, age: int, *, taken: bool
) -> None:
    """Both clocks are real; the ages are far enough from the bounds not to care."""
    now = time.time_ns() // 1_000_000
    data = bytes(encode_batch([Record(0, now, b"k", b"v"), Record(0, now - age, b"k", b"v")]))
    bounds = "timestampBefore=100000 timestampAfter=10000"
    _, answer, _ = log_oracle.ask(f"open {tmp_path}/t-0 {bounds}", f"appendLeaderHex 0 {data.hex()}", "close")
    config = LogConfig(message_timestamp_before_max_ms=100_000, message_timestamp_after_max_ms=10_000)
    log = OurLog(tmp_path, config)
    if taken:
        assert log.lead(data, AppendOrigin.CLIENT, now) == answer
        return
    assert kafkas_answer(answer) == "ERR InvalidTimestampException"
    with pytest.raises(InvalidTimestampError, match="record 1 "):
        log.lead(data, AppendOrigin.CLIENT, now)
