"""A frozen log reads as a `Log` reads a copy of the directory that it has opened and recovered, and writes nothing."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from epoch.entry import EndOffset
from logstore import BatchTemplate, Codec, Isolation, Log, LogConfig, Record
from logstore.batch.batches import read_batches
from logstore.batch.layout import CRC_START
from logstore.errors import LogClosedError, OffsetOutOfRangeError, ReadOnlyError
from logstore.log.frozen_log import FrozenLog
from logstore.log.timestamp_search import EARLIEST, LARGEST, LATEST
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.offline.recovered_log import RecoveredLog
from tests.campaign import Campaign
from tests.data.replicas import replicas

NOW = 1_700_000_000_000
CONFIG = LogConfig(segment_bytes=4_000, index_interval_bytes=300, segment_index_bytes=4_096)
CAMPAIGN = Campaign("frozen logs", full=2_000, share=60)
READS = (0, 1, 700, 1 << 20)


def random_log(directory: Path, rng: random.Random) -> None:
    """Write a log with epochs, codecs, transactions and deleted records; close it, or leave it as a crash would."""
    log = Log.open(directory, CONFIG, clock=lambda: NOW)
    epoch, sequences = 0, dict.fromkeys(range(3), 0)
    for number in range(rng.randrange(1, 60)):
        epoch += rng.random() < 0.1
        choice = rng.random()
        records = [
            Record(-1, NOW + rng.randrange(-50, 50) + number, b"k", rng.randbytes(rng.randrange(200)))
            for _ in range(rng.randrange(1, 6))
        ]
        producer = rng.randrange(3)
        if choice < 0.4:
            template = BatchTemplate(
                producer_id=producer, producer_epoch=0, base_sequence=sequences[producer], is_transactional=True
            )
            log.append(records, leader_epoch=epoch, template=template)
            sequences[producer] += len(records)
        elif choice < 0.6 and sequences[producer]:
            log.append_end_transaction(producer, 0, commit=rng.random() < 0.5, leader_epoch=epoch)
        elif choice < 0.65:
            log.update_high_watermark(log.log_end_offset)
            log.delete_records(rng.randrange(log.log_start_offset, log.log_end_offset + 1))
        elif choice < 0.7:
            log.flush()
        else:
            template = BatchTemplate(codec=rng.choice([Codec.NONE, Codec.LZ4, Codec.ZSTD]))
            log.append(records, leader_epoch=epoch, template=template)
    if rng.random() < 0.5:
        log.close()
    else:
        log.abandon()
    spoil(directory, rng, log.recovery_point)


def spoil(directory: Path, rng: random.Random, flushed: int) -> None:
    """Lose index files, and, where nobody says that the log was closed in order, a part of what was not flushed."""
    logs = sorted(directory.glob("*.log"))
    if rng.random() < 0.3:
        # Not those of transactions: where there were none, there is no file, and nobody asks for one that was flushed.
        indexes = [path for path in sorted(directory.glob("*index")) if path.suffix != ".txnindex"]
        victim = rng.choice(indexes or logs)
        if victim.suffix != ".log":
            victim.unlink()
    is_clean = (directory / ".kafka_cleanshutdown").exists()
    batches = list(read_batches(memoryview(logs[-1].read_bytes())))
    if not is_clean and rng.random() < 0.5 and batches and batches[-1].base_offset >= flushed:
        content = bytearray(logs[-1].read_bytes())
        last = batches[-1]
        if rng.random() < 0.5:
            first = next(each.position for each in batches if each.base_offset >= flushed)
            del content[-rng.randrange(1, min(len(content) - first, 300) + 1) :]
        else:
            # What is under a checksum: nobody can tell of a base offset that it is another.
            content[rng.randrange(last.position + CRC_START, len(content))] ^= 1
        logs[-1].write_bytes(content)


def tree(directory: Path) -> dict[str, tuple[int, int, int, bytes]]:
    return {
        path.name: (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, path.read_bytes())
        for path in sorted(directory.iterdir())
        for stat in [path.stat()]
    }


def test_all_is_read_as_the_log_that_recovers_the_directory_reads_it(tmp_path: Path) -> None:
    for number in range(CAMPAIGN.count):
        rng = random.Random(f"{CAMPAIGN.seed} {number}")
        original = tmp_path / f"{number}" / "t-0"
        original.parent.mkdir()
        random_log(original, rng)
        copy = shutil.copytree(original, tmp_path / f"{number}" / "copy" / "t-0")
        before = tree(original)
        with FrozenLog.open(original, CONFIG) as frozen, Log.open(copy, CONFIG, clock=lambda: NOW) as log:
            log.update_high_watermark(log.log_end_offset)
            read_alike(frozen, log)
        assert tree(original) == before
        shutil.rmtree(original.parent)
    CAMPAIGN.report(CAMPAIGN.count)


def test_a_transaction_that_began_in_the_last_batch_before_a_crash_is_open(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", CONFIG)
    log.append([b"decided"])
    transaction = BatchTemplate(producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    log.append([b"open"], template=transaction)
    log.abandon()
    with FrozenLog.open(log.directory, CONFIG) as frozen:
        assert (frozen.high_watermark, frozen.last_stable_offset) == (2, 1)
        assert [record.value for record in frozen.records(isolation=Isolation.READ_COMMITTED)] == [b"decided"]


def read_alike(frozen: FrozenLog, log: Log) -> None:
    assert (frozen.log_start_offset, frozen.log_end_offset) == (log.log_start_offset, log.log_end_offset)
    assert (frozen.high_watermark, frozen.last_stable_offset) == (log.high_watermark, log.last_stable_offset)
    is_empty = log.log_start_offset == log.log_end_offset  # who led it is of no matter, and not known to both
    assert is_empty or frozen.epochs.entries == log.epochs.entries
    for offset in range(log.log_start_offset, log.log_end_offset + 1):
        for max_bytes in READS:
            for isolation in Isolation:
                one = frozen.read(offset, max_bytes, isolation=isolation)
                other = log.read(offset, max_bytes, isolation=isolation)
                assert (bytes(one.data), one.position) == (bytes(other.data), other.position)
                assert list(one.aborted_transactions) == list(other.aborted_transactions)
    for timestamp in () if is_empty else (LATEST, EARLIEST, LARGEST, *range(NOW - 60, NOW + 130, 7)):
        assert frozen.offset_for_timestamp(timestamp) == log.offset_for_timestamp(timestamp)
    for epoch in () if is_empty else range(8):
        assert frozen.end_offset_for_epoch(epoch) == log.end_offset_for_epoch(epoch)
    assert list(frozen.records()) == list(log.records())


@pytest.fixture
def shipped() -> Iterator[FrozenLog]:
    root = OfflineLogDirectory.open(replicas("reconciled") / "broker-1")
    with FrozenLog.of(RecoveredLog.load(root.open_partition("txns-0"))) as log:
        yield log


class TestARealBrokersPartition:
    def test_committed_records_come_without_aborted_ones(self, shipped: FrozenLog) -> None:
        view = shipped.read(shipped.log_start_offset, 1 << 20, isolation=Isolation.READ_COMMITTED)
        assert view.aborted_transactions
        values = [record.value or b"" for record in shipped.records(isolation=Isolation.READ_COMMITTED)]
        assert values
        assert not any(value.startswith((b"t1:", b"t4:")) for value in values)

    def test_epochs_are_answered_as_by_a_leader(self, shipped: FrozenLog) -> None:
        latest = shipped.epochs.latest_epoch
        assert latest is not None
        assert shipped.end_offset_for_epoch(latest) == EndOffset(latest, shipped.log_end_offset)

    def test_what_is_not_there_is_refused(self, shipped: FrozenLog) -> None:
        with pytest.raises(OffsetOutOfRangeError):
            shipped.read(shipped.log_end_offset + 1, 100)
        with pytest.raises(ReadOnlyError):
            shipped.cursor("billing")

    def test_what_was_read_stays_valid_once_it_is_closed(self, shipped: FrozenLog) -> None:
        start = shipped.log_start_offset
        view = shipped.read(start, 1 << 20)
        shipped.close()
        assert next(iter(view.batches())).base_offset <= start
        with pytest.raises(LogClosedError):
            shipped.read(start, 100)


def test_a_directory_without_a_segment_is_an_empty_log(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / "leader-epoch-checkpoint").write_text("0\n0\n")
    with FrozenLog.open(tmp_path / "t-0") as log:
        assert (log.log_start_offset, log.log_end_offset, log.read(0, 100).data.nbytes) == (0, 0, 0)
        assert not list((tmp_path / "t-0").glob("*.log"))


def test_who_leads_is_noted_in_memory_alone(tmp_path: Path) -> None:
    directory = tmp_path / "t-0"
    with Log.open(directory) as log:
        log.append([b"a", b"b"], leader_epoch=3)
    before = {path: path.read_bytes() for path in directory.iterdir()}
    with FrozenLog.open(directory) as frozen:
        frozen.lead(5)
        assert [frozen.end_offset_for_epoch(epoch) for epoch in (3, 4, 5)] == [(3, 2), (3, 2), (5, 2)]
    assert before == {path: path.read_bytes() for path in directory.iterdir()}
