"""Random logs, compacted several times by Kafka's own cleaner and by ours: the same batches are left of them."""

import random
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from unittest.mock import patch

import pytest

from logstore.append.append_info import AppendInfo
from logstore.append.encoding import encode_batch
from logstore.batch.batch import RecordBatch
from logstore.batch.batch_attributes import TimestampType
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.compression.codec import Codec
from logstore.batch.record import Header, Record
from logstore.clock import now_ms
from logstore.compaction import dirty_section
from logstore.compaction.batch_cleaner import BatchCleaner
from logstore.compaction.compaction_report import CompactionReport
from logstore.compaction.offset_map import BYTES_PER_KEY
from logstore.file_name import FileFate, FileKind, parse_file_name
from logstore.indexes.transaction_index import AbortedTransaction
from logstore.log import compaction
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.offline.log_file import LogFile
from logstore.segment.live_segment import LiveSegment
from logstore.segment.segment_list import aborted_within
from tests.campaign import Campaign
from tests.logstore.directories import GAPS, assert_sound
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease

LOGS = Campaign("compaction beside Kafka's cleaner", full=1_000, share=60)
ROUNDS = 4
PAUSES_MS = (400, 1_200)
"""How far rounds are apart, and how long tombstones stay."""
PRODUCERS = range(7, 10)
ROOM_FOR_ALL = 100_000
NOW = now_ms()
"""The producers must not be forgotten as the log is opened, by either side."""


KAFKA_GIVES_UP = "Attempt to append to a full time index"
"""Its cleaner does not look whether an index that takes few entries has room for what is merged."""


class KafkaGivesUpError(Exception):
    """Kafka cannot compact this log."""


@pytest.fixture(scope="module")
def cleaner(release: KafkaRelease) -> Iterator[JavaProgram]:
    """Kafka's Cleaner."""
    with JavaProgram(release, "CompactionOracle") as oracle:
        yield oracle


@dataclass(frozen=True)
class Rules:
    """What does not change during a log's life."""

    config: LogConfig
    max_keys: int
    keys: int
    codecs: tuple[Codec, ...]

    @property
    def has_same_segments(self) -> bool:
        """Whether segments have the same sizes: Java compresses to other sizes, and notes fewer batches in indexes."""
        return len(self.codecs) == 1 and self.config.segment_index_bytes > 1_000

    @classmethod
    def random(cls, rng: random.Random) -> "Rules":
        config = LogConfig(
            cleanup_policy=frozenset({"compact"}),
            segment_bytes=rng.choice([900, 1_500, 4_000]),
            segment_index_bytes=rng.choice([120, 1 << 20, 1 << 20]),
            index_interval_bytes=rng.choice([0, 300, 4_096]),
            delete_retention_ms=rng.choice([0, *PAUSES_MS]),
            min_compaction_lag_ms=rng.choice([0, 0, 0, 700]),
            message_timestamp_type=rng.choice([TimestampType.CREATE_TIME] * 3 + [TimestampType.LOG_APPEND_TIME]),
            file_delete_delay_ms=0,
        )
        return cls(
            config,
            rng.choice([ROOM_FOR_ALL, ROOM_FOR_ALL, 3, 8]),
            rng.choice([2, 6, 30]),
            rng.choice([(Codec.NONE,), tuple(Codec)]),
        )


class Life:
    """The appends of one log: the same for the same seed, whatever compaction has left of those before."""

    def __init__(self, seed: int, rules: Rules) -> None:
        self.rng = random.Random(seed)
        self.rules = rules
        self.sequences = dict.fromkeys(PRODUCERS, 0)
        self.epochs = dict.fromkeys(PRODUCERS, 0)
        self.in_transaction: set[int] = set()

    def go_on(self, log: Log, now: int) -> None:
        """Append for a while."""
        rng = self.rng
        for _ in range(rng.randrange(5, 40)):
            now += rng.randrange(20)
            action = rng.random()
            if action < 0.35:
                self._lead(log, now, BatchTemplate(codec=rng.choice(self.rules.codecs)))
            elif action < 0.5:
                self._follow(log, now)
            elif action < 0.9:
                self._produce(log, now)
            elif action < 0.95 and self.in_transaction:
                self._end_transaction(log)
            else:
                log.roll()
        if rng.random() < 0.7:
            while self.in_transaction:
                self._end_transaction(log)
        if rng.random() < 0.3:
            self._follow(log, now, lacks_keys=1)
        if rng.random() < 0.5:
            log.roll()

    def _lead(self, log: Log, now: int, template: BatchTemplate) -> AppendInfo:
        return log.append(self._records(now), leader_epoch=3, template=template)

    def _follow(self, log: Log, now: int, lacks_keys: float = 0.2) -> None:
        """Append as a follower: after a gap, and records without keys, which a leader refuses."""
        offset = log.log_end_offset + self.rng.choice([0, 0, 1, 5, 2**31 - 1])
        template = BatchTemplate(base_offset=offset, leader_epoch=3, codec=self.rng.choice(self.rules.codecs))
        log.append_batches(encode_batch(self._records(now, lacks_keys), template))

    def _produce(self, log: Log, now: int) -> None:
        producer = self.rng.choice(PRODUCERS)
        in_transaction = producer in self.in_transaction or self.rng.random() < 0.6
        records = self._records(now)
        template = BatchTemplate(
            codec=self.rng.choice(self.rules.codecs),
            producer_id=producer,
            producer_epoch=self.epochs[producer],
            base_sequence=self.sequences[producer],
            is_transactional=in_transaction,
        )
        log.append(records, leader_epoch=3, template=template)
        self.sequences[producer] += len(records)
        if in_transaction:
            self.in_transaction.add(producer)
            if self.rng.random() < 0.4:
                self._end_transaction(log, producer)

    def _end_transaction(self, log: Log, producer: int | None = None) -> None:
        producer = self.rng.choice(sorted(self.in_transaction)) if producer is None else producer
        self.in_transaction.remove(producer)
        version = self.rng.choice([1, 1, 2])
        if version > 1:  # the next transaction has an epoch of its own, which only the marker knows so far
            self.epochs[producer] += 1
            self.sequences[producer] = 0
        log.append_end_transaction(
            producer,
            self.epochs[producer],
            commit=self.rng.random() < 0.5,
            leader_epoch=3,
            transaction_version=version,
        )

    def _records(self, now: int, lacks_keys: float = 0) -> list[Record]:
        return [self._record(now, lacks_keys) for _ in range(self.rng.randrange(1, 5))]

    def _record(self, now: int, lacks_keys: float) -> Record:
        rng = self.rng
        key = b"k%d" % rng.randrange(self.rules.keys) + rng.choice([b"", b"", b"-long" * 20])
        value = None if rng.random() < 0.25 else rng.randbytes(rng.choice([0, 5, 80]))
        headers = (Header("h", rng.choice([None, b"", b"x" * 9])),) if rng.random() < 0.2 else ()
        lacks_key = rng.random() < lacks_keys
        return Record(0, now - rng.choice([0, 0, 50]), None if lacks_key else key, value, headers)


def aborted_before_too(segments: Sequence[LiveSegment], _: int, end: int) -> list[AbortedTransaction]:
    """What Kafka looks up where the dirty section begins in the middle of a segment: transactions that ended before it.

    It does not come across their markers then, takes the producer's next transactions for aborted ones, and leaves
    their keys for the next round. Ours does not.
    """
    return aborted_within(segments, 0, end)


def content(directory: Path) -> dict[int, list[object]]:
    """The batches of each segment: headers, and the records, decompressed."""
    files = sorted(directory.iterdir())
    named = [(parse_file_name(path.name), path) for path in files]
    assert all(name.fate is FileFate.LIVE for name, _ in named), files
    return {
        name.base_offset or 0: [batch_content(batch) for batch in LogFile.open(path).batches()]
        for name, path in named
        if name.kind is FileKind.LOG
    }


def batch_content(batch: object) -> object:
    assert isinstance(batch, RecordBatch)
    batch.ensure_valid()
    header = {
        name: getattr(batch, name)
        for name in (
            "base_offset",
            "last_offset",
            "leader_epoch",
            "attributes",
            "base_timestamp",
            "max_timestamp",
            "producer_id",
            "producer_epoch",
            "base_sequence",
            "record_count",
        )
    }
    return header, list(batch.records())


def aborted(directory: Path) -> list[bytes]:
    """The transaction indexes, as one."""
    return [path.read_bytes() for path in sorted(directory.glob("*.txnindex")) if path.stat().st_size]


@dataclass
class Pair:
    """The same log twice."""

    ours: Path
    kafkas: Path
    rules: Rules
    release: KafkaRelease
    dirty: int | None = None
    compacted: int = 0

    def open(self, directory: Path, now: int) -> Log:
        return Log.open(directory, self.rules.config, replicated=True, clock=lambda: now)

    def compact(self, oracle: JavaProgram, now: int, high_watermark: int) -> None:
        """Compact both, and compare all that is left."""
        config = self.rules.config
        with self.open(self.ours, now) as log:
            assert log.cleaner_offset == self.dirty
            log.update_high_watermark(high_watermark)
            start = log.log_start_offset
            section = log._compaction.section()
            report = self._compact(log, section.end)
        dirty = "" if self.dirty is None else f"dirty={self.dirty}"
        [answer] = oracle.ask(
            f"clean {self.kafkas} now={now} hw={high_watermark} {dirty} logStart={start} maxKeys={self.rules.max_keys} "
            f"segmentBytes={config.segment_bytes} indexInterval={config.index_interval_bytes} "
            f"indexBytes={config.segment_index_bytes} deleteRetention={config.delete_retention_ms} "
            f"minLag={config.min_compaction_lag_ms}"
        )
        if KAFKA_GIVES_UP in answer:
            raise KafkaGivesUpError
        kind, *numbers = answer.split()
        assert kind in {"ok", "none"}, answer.replace("\\n", "\n")
        first_dirty, first_uncleanable, dirty_bytes, clean_bytes, *ends = map(int, numbers)
        assert (section.start, section.end) == (first_dirty, first_uncleanable) or kind == "none"
        if ends:
            if self.rules.has_same_segments:
                assert (section.dirty_bytes, section.clean_bytes) == (dirty_bytes, clean_bytes)
            assert [report.end_offset] == ends
            self.dirty = report.end_offset
            self.compacted += 1
        else:
            assert not section
        self._compare()
        assert_sound(self.ours, start, expected=GAPS)

    def _compact(self, log: Log, end: int) -> CompactionReport:
        """Compact as the release does: until 4.4 the last batch of the round stayed, not that at the high watermark."""
        with ExitStack() as stack:
            stack.enter_context(patch.object(dirty_section, "aborted_within", aborted_before_too))
            if self.release.is_before_4_4:
                kept_to_the_end = lambda *rules, **at: BatchCleaner(*rules[:-1], end, **at)  # noqa: E731  in one place
                stack.enter_context(patch.object(compaction, "BatchCleaner", kept_to_the_end))
            return log.compact(self.rules.max_keys * BYTES_PER_KEY)

    def _compare(self) -> None:
        ours, kafkas = content(self.ours), content(self.kafkas)
        assert list(chain(*ours.values())) == list(chain(*kafkas.values()))
        assert aborted(self.ours) == aborted(self.kafkas)
        if self.rules.has_same_segments:
            assert ours == kafkas


def live(root: Path, seed: int, oracle: JavaProgram) -> int:
    """Live one log's life, twice; return how often it was compacted."""
    rng = random.Random(seed)
    rules = Rules.random(rng)
    pair = Pair(root / "ours/t-0", root / "kafkas/t-0", rules, oracle.release)
    lives = [(Life(seed, rules), directory) for directory in (pair.ours, pair.kafkas)]
    now = NOW
    for directory in (pair.ours, pair.kafkas):
        directory.mkdir(parents=True)
    for _ in range(ROUNDS):
        ends = set()
        for appends, directory in lives:
            with pair.open(directory, now) as log:
                appends.go_on(log, now)
                ends.add(log.log_end_offset)
        [end] = ends
        now += rng.choice(PAUSES_MS)
        pair.compact(oracle, now, end - rng.choice([0, 0, 0, 3]))
    return pair.compacted


def test_what_is_left_is_what_kafkas_cleaner_leaves(cleaner: JavaProgram, memory_dir: Path) -> None:
    compacted = given_up = 0
    for number in range(LOGS.count):
        root = memory_dir / "compaction"
        try:
            compacted += live(root, LOGS.seed * 10_000 + number, cleaner)
        except KafkaGivesUpError:
            given_up += 1
        except BaseException as error:
            error.add_note(f"log {number}")
            raise
        finally:
            shutil.rmtree(root, ignore_errors=True)
    assert compacted > LOGS.count
    LOGS.report(LOGS.count, f"{compacted:,} rounds, Kafka gives up on {given_up}", beside=cleaner.release)
