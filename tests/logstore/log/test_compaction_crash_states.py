"""Wherever a crash falls in a compaction, and whatever it leaves: each key has its latest value when the log is opened.

Appends are flushed before each compaction, so that a crash may change nothing that a reader of committed records gets.
"""

import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from epoch.filesystem import REAL, FileSystem
from logstore.append.append_info import AppendInfo
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.compression.codec import Codec
from logstore.batch.record import Record
from logstore.log.log import Log
from logstore.log.reading.isolation import Isolation
from logstore.log_config import LogConfig
from tests.campaign import Campaign
from tests.crash_states import crash_states, write_state
from tests.logstore.directories import assert_sound
from tests.logstore.late_syncs import late_syncs
from tests.logstore.log.test_log_crash_states import KAFKA_GIVES_UP, begun_segment, kafkas_answers
from tests.logstore.log_workloads import NOW, PARTITION
from tests.oracle.kafka import JavaProgram
from tests.recording_disk import RecordingDisk

STATES = Campaign("crashes of compaction", full=8_000, share=400)
OPENED = Campaign("crashes of compaction, opened by Kafka", full=1_000, share=100)
LIVES = 40
STRIDE = 25
RETENTION_MS = 1_000
COMPACTED = {"offset-gap", "missing-segment", "epoch-start-differs", "epoch-without-batches"}
"""What `verify` says to holes where it does not know that a log was compacted: its checkpoint may come after them."""

Values = dict[bytes, bytes | None]


@dataclass(frozen=True)
class Written:
    """An append: where it ends, and what it says of keys once it is committed."""

    end: int
    values: Values
    producer: int | None = None
    commits: bool | None = None
    """Of a marker."""


@dataclass
class CompactedLife:
    """The life of a log that is compacted now and then, on a disk that notes every step."""

    root: Path
    rng: random.Random
    disk: RecordingDisk = field(default_factory=RecordingDisk)
    now: int = NOW
    written: list[Written] = field(default_factory=list)
    sequences: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.config = LogConfig(
            cleanup_policy=frozenset({"compact"}),
            segment_bytes=self.rng.choice([400, 900]),
            index_interval_bytes=self.rng.choice([0, 300]),
            delete_retention_ms=RETENTION_MS,
            file_delete_delay_ms=self.rng.choice([0, 60_000]),
        )
        self.log = self.open(self.root / PARTITION, self.disk)

    def open(self, directory: Path, disk: FileSystem = REAL, now: int | None = None) -> Log:
        return Log.open(directory, self.config, clock=lambda: now or self.now, filesystem=disk)

    def live(self) -> None:
        """Append, compact, and stop in order or not."""
        for _ in range(3):
            for _ in range(self.rng.randrange(4, 9)):
                self._append()
            self.log.roll()
            self.log.flush()
            self.disk.tell(self.log.log_end_offset)
            self.now += self.rng.choice([10, 2 * RETENTION_MS])
            self.log.update_high_watermark(self.log.log_end_offset)
            self.log.compact()
            if self.rng.random() < 0.3:
                (self.log.close if self.rng.random() < 0.5 else self.log.abandon)()
                self.log = self.open(self.root / PARTITION, self.disk)
        self.log.close()

    def _append(self) -> None:
        rng = self.rng
        producer = rng.choice([None, 7, 8])
        values: Values = {b"k%d" % rng.randrange(4): rng.choice([None, rng.randbytes(20)]) for _ in range(2)}
        sequence = self.sequences.get(producer or 0, 0)
        template = BatchTemplate(codec=rng.choice([Codec.NONE, Codec.LZ4]), leader_epoch=0)
        if producer is not None:
            template = replace(
                template, producer_id=producer, producer_epoch=0, base_sequence=sequence, is_transactional=True
            )
            self.sequences[producer] = sequence + len(values)
        records = [Record(0, self.now, key, value) for key, value in values.items()]
        self._note(self.log.append(records, leader_epoch=0, template=template), values, producer)
        if producer is not None and rng.random() < 0.7:
            commits = rng.random() < 0.5
            info = self.log.append_end_transaction(producer, 0, commit=commits, leader_epoch=0)
            self._note(info, {}, producer, commits=commits)

    def _note(self, info: AppendInfo, values: Values, producer: int | None, *, commits: bool | None = None) -> None:
        self.written.append(Written(info.last_offset + 1, values, producer, commits))

    def expected(self, end: int) -> Values:
        """What a reader of committed records knows of a log that ends at `end`."""
        ends, limit = dict[int, int](), end
        for number, each in enumerate(self.written):
            if each.end <= end and each.commits is not None and each.producer is not None:
                ends[each.producer] = number
        open_transactions = [
            each.end - len(each.values)
            for number, each in enumerate(self.written)
            if each.end <= end and each.producer is not None and each.values and number > ends.get(each.producer, -1)
        ]
        limit = min([end, *open_transactions])
        values: Values = {}
        for number, each in enumerate(self.written):
            if each.end <= limit and self._is_committed(number, each):
                values |= each.values
        return {key: value for key, value in values.items() if value is not None}

    def _is_committed(self, number: int, each: Written) -> bool:
        if each.producer is None:
            return True
        later = (other for other in self.written[number:] if other.producer == each.producer)
        return next((other.commits for other in later if other.commits is not None), False) or False


def committed(log: Log) -> Values:
    """What a reader of committed records gets."""
    log.update_high_watermark(log.log_end_offset)
    values: Values = {}
    offset = log.log_start_offset
    while offset < log.last_stable_offset:
        view = log.read(offset, 1 << 20, isolation=Isolation.READ_COMMITTED)
        values |= {record.key or b"": record.value for record in view.records()}
        if view.next_offset == offset:
            break  # nothing is left up to there
        offset = view.next_offset
    return {key: value for key, value in values.items() if value is not None}


def check(directory: Path, life: CompactedLife, flushed: int) -> None:
    """Open what a crash left, compact it to the end, and look at it before and after."""
    if flushed % 2:  # whoever opens it first need not know that it is compacted
        with Log.open(directory, replace(life.config, cleanup_policy=frozenset({"delete"}))) as log:
            assert log.log_end_offset >= flushed, "what was flushed is lost"
    with life.open(directory, now=life.now) as log:
        assert log.log_end_offset >= flushed, "what was flushed is lost"
        end = log.log_end_offset
        assert committed(log) == life.expected(end)
        log.compact()
        assert committed(log) == life.expected(end)
    with life.open(directory, now=life.now + 10 * RETENTION_MS) as log:
        log.append([Record(0, life.now, b"new", b"value")])
        log.roll()
        log.update_high_watermark(log.log_end_offset)
        log.compact()
        assert committed(log) == life.expected(end) | ({b"new": b"value"} if is_decided(log) else {})
    assert_sound(directory, expected=COMPACTED)


def is_decided(log: Log) -> bool:
    """Whether no transaction is open."""
    return log.last_stable_offset == log.log_end_offset


def lives(root: Path) -> Iterator[CompactedLife]:
    for number in range(LIVES):
        (root / str(number)).mkdir()
        life = CompactedLife(root / str(number), random.Random(STATES.seed * 1_000 + number))
        with late_syncs(are_late=bool(number % 2)):
            life.live()
        yield life


@dataclass(frozen=True)
class Crash:
    """One state that a crash left, in a directory."""

    directory: Path
    life: CompactedLife
    flushed: int


def crashes(root: Path, campaign: Campaign) -> Iterator[Crash]:
    """All states of all lives in a full run; otherwise some of the first ones."""
    root.mkdir()
    stride = 1 if campaign.count == campaign.full else STRIDE
    number = given = 0
    for life in lives(root):
        for told, state in crash_states(life.disk.steps, life.root):
            number += 1
            if (number + campaign.seed) % stride or Path(PARTITION) not in state:
                continue
            place = root / f"life-{life.root.name}-state-{number}"
            place.mkdir()
            write_state(state, place)
            yield Crash(place / PARTITION, life, told if isinstance(told, int) else 0)
            shutil.rmtree(place)
            given += 1
            if given >= campaign.count:
                return


def test_each_key_has_its_latest_value_wherever_a_compaction_is_cut_off(memory_dir: Path) -> None:
    checked = 0
    for crash in crashes(memory_dir / "compacted-lives", STATES):
        check(crash.directory, crash.life, crash.flushed)
        checked += 1
    assert checked == STATES.count
    STATES.report(checked)


def test_kafka_opens_what_a_crash_left_of_a_compaction(log_oracle: JavaProgram, memory_dir: Path) -> None:
    compared = refused = 0
    for crash in crashes(memory_dir / "opened-by-kafka", OPENED):
        answer = kafkas_answers(log_oracle, crash.directory, crash.life.config)
        if isinstance(answer, str):
            assert any(reason in answer for reason in KAFKA_GIVES_UP), answer
            refused += 1
            continue
        end, _ = answer
        with crash.life.open(crash.directory) as log:
            goes_on_at = begun_segment(log)  # which Kafka does not know
            assert (log.log_end_offset if goes_on_at is None else goes_on_at) == end >= crash.flushed
            assert committed(log) == crash.life.expected(log.log_end_offset)
        compared += 1
    OPENED.report(compared, f"Kafka gives up on {refused}", beside=log_oracle.release)
