"""Random sequences of everything that a log does, done by Kafka's own UnifiedLog too."""

import random
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

import pytest

from epoch.entry import EpochEntry
from logstore.append.encoding import encode_end_transaction
from logstore.batch.append_origin import AppendOrigin
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.control import ControlType, EndTransactionMarker
from logstore.batch.record import Record
from logstore.errors import InvalidProducerEpochError, TransactionCoordinatorFencedError
from logstore.files.root_checkpoints import PartitionCheckpoints
from logstore.log.log import Log
from logstore.log.reading.isolation import Isolation
from tests.campaign import Campaign
from tests.logstore.directories import GAPS, assert_sound
from tests.logstore.log_pair import KafkaCannotOpenError, LogPair
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease

SEQUENCES = Campaign("log-oracle", full=2_000, share=60)
STEPS = 40
CODECS = ["none", "none", "none", "gzip", "snappy", "lz4", "zstd"]
PRODUCERS = [7, 8, 9]
LONG_AGO = 1_000
"""In ms since 1970 UTC: opening a log forgets idle producers."""
LATER = 4_000_000_000_000
"""It does not forget them."""
FORGOTTEN = {"snapshot-differs", "aborted-transaction-missing"}
"""Where all producers were forgotten, a truncation does not read the log again (Kafka: rebuildProducerState). Producers
that were in a transaction at a snapshot come back, though it may have ended since; one that began after the snapshot,
and whose end is cut, is not known when it is aborted anew. Kafka's files have both."""


@pytest.fixture(scope="module")
def log_oracle(release: KafkaRelease) -> Iterator[JavaProgram]:
    """Kafka's UnifiedLog."""
    with JavaProgram(release, "LogOracle") as oracle:
        yield oracle


class Sequence:
    """One random walk. Follower and leader appends alternate in phases, as a replica's roles do."""

    def __init__(self, pair: LogPair, rng: random.Random) -> None:
        self.pair = pair
        self.rng = rng
        self.epoch = 0
        self.now = rng.choice([LONG_AGO, LATER])
        self.expected = GAPS | FORGOTTEN if self.now == LONG_AGO else GAPS
        self.sequences = dict.fromkeys(PRODUCERS, 0)
        self.in_transaction: dict[int, bool] = {}

    def run(self, steps: int) -> None:
        rng = self.rng
        actions = {
            self.append_as_follower: 10,
            self.append_as_leader: 10,
            self.append_of_producer: 8,
            self.end_transaction: 4,
            self.append_nonsense: 2,
            self.read: 10,
            self.ask_by_time: 3,
            self.ask_by_epoch: 2,
            self.new_epoch: 2,
            self.high_watermark: 4,
            self.truncate: 3,
            self.truncate_fully: 0.3,
            self.delete_records: 2,
            self.delete_old_segments: 1,
            self.pair.roll: 2,
            self.pair.flush: 2,
            self.pair.last_stable_offset: 2,
            self.pair.check_indexes: 2,
            self.reopen: 1,
            self.crash: 1,
        }
        for action in rng.choices(list(actions), list(actions.values()), k=steps):
            action()
            self.pair.check_content()
        self.pair.close()

    @property
    def end(self) -> int:
        return self.pair.log.log_end_offset

    def build(self, base_offset: int, epoch: int, options: str = "") -> bytes:
        """Let Kafka encode a batch."""
        rng = self.rng
        self.now += rng.randrange(50)
        timestamp = self.now - rng.choice([0, 0, 0, rng.randrange(500)])
        codec = rng.choice(CODECS)
        records, value_bytes = rng.choice([(1, 10), (2, 300), (5, 40), (rng.randrange(1, 20), rng.randrange(100))])
        step = rng.choice([0, 1, 1, 7])
        line = f"buildHex {base_offset} {epoch} {records} {value_bytes} {timestamp} {codec} tsStep={step} {options}"
        return bytes.fromhex(self.pair.kafka.ask(line)[0])

    def append_as_follower(self) -> None:
        base_offset, data = self.end, b""
        for _ in range(1 if self.pair.has_small_indexes else self.rng.choice([1, 1, 1, 2, 4])):
            self.epoch += self.rng.random() < 0.1
            base_offset += self.rng.choice([0, 0, 0, 0, 0, 3])
            batch = self.build(base_offset, self.epoch)
            base_offset += int.from_bytes(batch[23:27]) + 1
            data += batch
        torn = self.rng.choice([0, 0, 0, self.rng.randrange(1, 30)])
        leader_epoch = self.epoch - (self.rng.random() < 0.1)
        self.pair.append_as_follower(data[: len(data) - torn], max(leader_epoch, 0))

    def append_as_leader(self) -> None:
        self.epoch += self.rng.random() < 0.05
        self.pair.append_as_leader(self.build(0, -1), self.epoch)

    def append_of_producer(self) -> None:
        rng = self.rng
        producer = rng.choice(PRODUCERS)
        slip = rng.choice([0, 0, 0, 0, 0, -1, 1])
        sequence = max(self.sequences[producer] + slip, 0)
        transactional = self.in_transaction.get(producer, rng.random() < 0.5)
        data = self.build(0, -1, f"pid={producer} pepoch=0 seq={sequence} txn={int(transactional)}")
        end_before = self.end
        self.pair.append_as_leader(data, self.epoch)
        if self.end > end_before:
            self.sequences[producer] = sequence + self.end - end_before
            if transactional:
                self.in_transaction[producer] = True

    def end_transaction(self) -> None:
        producer = self.rng.choice(PRODUCERS)
        kind = self.rng.choice(["commit", "abort"])
        line = f"endTxnHex {producer} 0 {kind} {self.now}"
        data = bytes.fromhex(self.pair.kafka.ask(line)[0])
        self.pair.append_as_leader(data, self.epoch, AppendOrigin.COORDINATOR)
        self.in_transaction.pop(producer, None)

    def append_nonsense(self) -> None:
        rng = self.rng
        kind = rng.choice(["crc", "magic", "below the end", "base offset", "descending", "length"])
        if kind == "base offset":
            self.pair.append_as_leader(self.build(3, -1), self.epoch)
            return
        base_offset = self.end if kind != "below the end" else max(self.end - rng.randrange(1, 5), 0)
        data = bytearray(self.build(base_offset, self.epoch))
        if kind == "crc":
            data[rng.randrange(61, len(data))] ^= 0x40
        elif kind == "magic":
            data[16] = 7
        elif kind == "length":
            data[8:12] = rng.choice([3, 0, 48]).to_bytes(4)
        elif kind == "descending":
            data *= 2
        self.pair.append_as_follower(bytes(data), self.epoch)

    def read(self) -> None:
        rng = self.rng
        start, end = self.pair.log.log_start_offset, self.end
        offset = rng.randrange(max(start - 2, 0), end + 2)
        max_bytes = rng.choice([0, 1, 100, 700, 5_000, 1 << 20])
        self.pair.read(offset, max_bytes, rng.choice(list(Isolation)), min_one_batch=rng.random() < 0.8)

    def ask_by_time(self) -> None:
        rng = self.rng
        timestamp = rng.choice([-1, -2, -3, self.now + 1000, max(self.now - rng.randrange(1500), 0)])
        self.pair.offset_for_timestamp(timestamp)

    def ask_by_epoch(self) -> None:
        self.pair.end_offset_for_epoch(self.rng.randrange(-1, self.epoch + 2))

    def new_epoch(self) -> None:
        self.epoch += 1
        self.pair.log.assign_epoch(self.epoch, self.end)
        self.pair.check("ok", f"assignEpoch {self.epoch} {self.end}")

    def high_watermark(self) -> None:
        rng = self.rng
        now = self.pair.log.high_watermark
        self.pair.high_watermark(rng.choice([self.end, self.end + 5, rng.randrange(now, self.end + 1)]))

    def truncate(self) -> None:
        back = self.rng.choice([0, 1, 3, 10, 50, self.end])
        self.pair.truncate_to(max(self.end - back, 0))

    def truncate_fully(self) -> None:
        offset = self.end + self.rng.choice([0, 100])
        self.pair.truncate_fully_and_start_at(offset, self.rng.choice([None, None, max(offset - 10, 0)]))

    def delete_records(self) -> None:
        log = self.pair.log
        self.pair.delete_records(self.rng.randrange(log.log_start_offset, log.high_watermark + 2))

    def delete_old_segments(self) -> None:
        self.pair.delete_old_segments()

    def reopen(self) -> None:
        self.pair.close()
        assert_sound(self.pair.ours_dir, self.pair.log.log_start_offset, expected=self.expected)
        self.pair.open()

    def crash(self) -> None:
        self.pair.crash()
        self.pair.open()


def options(rng: random.Random) -> dict[str, int | str]:
    return {
        "segmentBytes": rng.choice([1_500, 5_000, 50_000]),
        "indexInterval": rng.choice([0, 100, 400, 4096]),
        "indexBytes": rng.choice([64, 200, 4096]),
        "segmentMs": rng.choice([300, 604_800_000]),
        "retentionBytes": rng.choice([-1, 4_000]),
    }


def test_every_answer_and_every_file_is_kafkas(log_oracle: JavaProgram, memory_dir: Path) -> None:
    for number in range(SEQUENCES.count):
        seed = SEQUENCES.seed * 1_000_003 + number
        rng = random.Random(seed)
        root = memory_dir / str(number)
        root.mkdir()
        pair = LogPair(log_oracle, root, options(rng))
        try:
            sequence = Sequence(pair, rng)
            sequence.run(STEPS)
            assert_sound(pair.ours_dir, pair.log.log_start_offset, expected=sequence.expected)
        except KafkaCannotOpenError:
            pair.log.abandon()
        except BaseException as error:
            log_oracle.ask("crash")
            error.add_note(f"sequence {number}, seed {seed}")
            raise
        rmtree(root)
    SEQUENCES.report(SEQUENCES.count, beside=log_oracle.release)


@pytest.mark.parametrize("kind", [ControlType.COMMIT, ControlType.ABORT])
def test_transactions_end_with_the_marker_that_kafka_makes(
    log_oracle: JavaProgram, tmp_path: Path, kind: ControlType
) -> None:
    kafkas = bytes.fromhex(log_oracle.ask(f"endTxnHex 7 3 {kind.name.lower()} {LATER} 5")[0])
    assert encode_end_transaction(EndTransactionMarker(kind, 0, 5), 7, 3, LATER) == kafkas
    written = []
    for name in ("t-0", "t-1"):
        with Log.open(tmp_path / name, clock=lambda: LATER) as log:
            template = BatchTemplate(producer_id=7, producer_epoch=3, base_sequence=0, is_transactional=True)
            log.append([Record.of(b"v", timestamp=LATER)], leader_epoch=2, template=template)
            if name == "t-0":
                log.append(kafkas, leader_epoch=2, origin=AppendOrigin.COORDINATOR, transaction_version=1)
            else:
                commit = kind is ControlType.COMMIT
                log.append_end_transaction(7, 3, commit=commit, leader_epoch=2, coordinator_epoch=5)
            log.update_high_watermark(2)
            assert log.last_stable_offset == 2
            assert len(log.read(0, 1 << 20, isolation=Isolation.READ_COMMITTED).aborted_transactions) == (kind == 0)
            written.append(bytes(log.read(0, 1 << 20).data))
    assert written[0] == written[1]


def test_a_marker_of_a_coordinator_that_has_moved_is_refused(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0") as log:
        log.append_end_transaction(7, 3, commit=True, leader_epoch=0, coordinator_epoch=5)
        with pytest.raises(TransactionCoordinatorFencedError):
            log.append_end_transaction(7, 3, commit=True, leader_epoch=0, coordinator_epoch=4)
        with pytest.raises(InvalidProducerEpochError):
            log.append_end_transaction(7, 2, commit=True, leader_epoch=0, coordinator_epoch=5)
        assert log.log_end_offset == 1


class TestSeldomMet:
    """What a random walk seldom comes by, step by step."""

    @pytest.fixture
    def pair(self, log_oracle: JavaProgram, tmp_path: Path) -> Iterator[LogPair]:
        pair = LogPair(log_oracle, tmp_path, options(random.Random(0)) | {"segmentBytes": 50_000, "segmentMs": 2**40})
        yield pair
        pair.close()

    def append(self, pair: LogPair, timestamp: int, records: int = 1, extra: str = "") -> None:
        line = f"buildHex 0 -1 {records} 10 {timestamp} none {extra}"
        pair.append_as_leader(bytes.fromhex(pair.kafka.ask(line)[0]), 0)

    def test_a_truncation_after_a_start_leaves_the_times_of_what_is_left(self, pair: LogPair) -> None:
        self.append(pair, 200)
        self.append(pair, 300)
        pair.close()
        pair.open()
        pair.truncate_to(1)
        self.append(pair, 100)
        pair.offset_for_timestamp(150)
        assert pair.log.offset_for_timestamp(150) is not None
        pair.check_indexes()

    def test_what_is_deleted_hides_no_later_record_from_a_lookup_by_time(self, pair: LogPair) -> None:
        self.append(pair, 200)
        pair.high_watermark(1)
        pair.delete_records(1)
        pair.roll()
        self.append(pair, 100)
        pair.offset_for_timestamp(50)
        assert pair.log.offset_for_timestamp(50) == (100, 1, 0)

    def test_a_log_that_starts_over_begins_with_an_empty_snapshot(self, pair: LogPair) -> None:
        self.append(pair, LATER, 4, "pid=7 pepoch=0 seq=0")
        pair.high_watermark(4)
        pair.delete_records(2)
        pair.truncate_to(3)
        pair.close()
        assert_sound(pair.ours_dir, pair.log.log_start_offset, expected=GAPS)
        pair.open()
        assert pair.log.log_end_offset == 2
        self.append(pair, LATER, 4)

    def test_an_epoch_whose_records_are_all_deleted_is_known_after_a_crash(self, pair: LogPair) -> None:
        self.append(pair, 200, 4)
        pair.high_watermark(4)
        pair.delete_records(4)
        pair.crash()
        pair.open()
        assert pair.log.epochs.entries == [EpochEntry(0, 4)]

    @pytest.mark.parametrize("epoch", [0, 3])
    def test_who_led_before_a_gap_at_the_logs_start_is_known_after_a_crash(self, pair: LogPair, epoch: int) -> None:
        self.append(pair, 200, 4)
        self.append(pair, 200, 4)
        pair.high_watermark(8)
        pair.delete_records(6)
        pair.truncate_to(4)
        pair.append_as_follower(bytes.fromhex(pair.kafka.ask(f"buildHex 7 {epoch} 1 10 200 none")[0]), epoch)
        assert pair.log.epochs.entries == [EpochEntry(epoch, 7)]
        pair.crash()
        pair.open()
        assert pair.log.epochs.entries == sorted({EpochEntry(0, 4), EpochEntry(epoch, 7 if epoch else 4)})

    def test_a_log_that_starts_over_without_records_has_the_same_files_after_every_start(self, pair: LogPair) -> None:
        pair.truncate_fully_and_start_at(178, 168)
        pair.high_watermark(178)
        pair.delete_records(178)
        for _ in range(3):
            pair.close()
            pair.open()

    @pytest.mark.parametrize("seed", range(8))
    def test_epochs_that_go_back_are_kafkas_and_stay_so_after_a_crash(self, pair: LogPair, seed: int) -> None:
        """Kafka's own differ after a crash: its recovery takes up the higher epochs once more."""
        rng = random.Random(seed)
        for _ in range(3):
            for _ in range(5):
                epoch, end = rng.randrange(1, 6), pair.log.log_end_offset
                if rng.random() < 0.7:
                    pair.append_as_follower(
                        bytes.fromhex(pair.kafka.ask(f"buildHex {end} {epoch} 5 10 200 none")[0]), 9
                    )
                else:
                    pair.append_as_leader(bytes.fromhex(pair.kafka.ask("buildHex 0 -1 5 10 200 none")[0]), epoch)
            recovery_point = rng.choice([0, 5, pair.log.log_end_offset])
            checkpoints = PartitionCheckpoints(recovery_point=recovery_point, log_start_offset=0, clean_shutdown=False)
            pair.log.abandon()
            pair.log = Log.open(pair.ours_dir, pair.config, checkpoints=checkpoints, replicated=True)
            pair.check(" ".join(f"{epoch}:{start}" for epoch, start in pair.log.epochs.entries), "epochs")
            for epoch in range(7):
                pair.end_offset_for_epoch(epoch)
