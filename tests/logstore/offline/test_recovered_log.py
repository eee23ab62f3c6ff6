"""What a loaded log knows is what Kafka knows once it has opened the same directory, however it was left."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from epoch.checkpoint import format_checkpoint
from logstore.errors import CorruptBatchError
from logstore.files.root_checkpoints import PartitionCheckpoints
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import RecoveredLog, RemovedBatches
from tests.campaign import Campaign
from tests.logstore.recovery.test_log_loader_against_kafka import SETTINGS, crashed_log
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease
from tests.replication.partitions import ABatch, write_partition

CRASHES = Campaign("recovered log against Kafka", full=2_000, share=60)
BATCHES = [ABatch(0, 5, 0), ABatch(5, 5, 0), ABatch(10, 5, 2), ABatch(15, 5, 3)]


@pytest.fixture(scope="module")
def oracle(release: KafkaRelease) -> Iterator[JavaProgram]:
    with JavaProgram(release, "LogOracle") as program:
        yield program


def open_with(path: Path, **told: int | bool) -> RecoveredLog:
    opened = PartitionDirectory.open(path)
    checkpoints = PartitionCheckpoints(**told)  # type: ignore[arg-type]  # offsets are int, clean_shutdown bool
    return RecoveredLog.load(PartitionDirectory(opened.path, opened.topic_partition, opened.listing, checkpoints))


def test_it_ends_where_kafkas_recovery_ends_with_the_same_epochs(oracle: JavaProgram, tmp_path: Path) -> None:
    for number in range(CRASHES.count):
        seed = f"{CRASHES.seed}/{number}"
        rng = random.Random(seed)
        original = tmp_path / f"{number}/written/t-0"
        recovery_point, log_start, said = crashed_log(oracle, original, rng)
        if said.endswith("swapped") or said.startswith("left-overs"):
            continue  # what a swap completes at start-up is the log loader's
        theirs = tmp_path / f"{number}/theirs/t-0"
        shutil.copytree(original, theirs)
        loaded = open_with(original, recovery_point=recovery_point, log_start_offset=log_start)
        opened, told, epochs = oracle.ask(
            f"open {theirs} {SETTINGS} clean=false recoveryPoint={recovery_point} logStart={log_start}",
            "leo",
            "epochs",
        )
        assert opened.startswith("ok"), (seed, said, opened)
        assert loaded.log_end_offset == int(told), (seed, said)
        assert " ".join(f"{epoch}:{start}" for epoch, start in loaded.history.entries) == epochs, (seed, said)
        oracle.ask("close")
        shutil.rmtree(tmp_path / str(number))
    CRASHES.report(CRASHES.count, beside=oracle.release)


def written(path: Path, *, segment_batches: int = 2) -> Path:
    return write_partition(path, BATCHES, [(0, 0), (2, 10), (3, 15)], segment_batches=segment_batches)


def flip(log: Path, position: int) -> None:
    data = bytearray(log.read_bytes())
    data[position] ^= 1
    log.write_bytes(data)


class TestAfterAKill:
    def test_the_log_ends_before_the_first_batch_whose_checksum_fails(self, tmp_path: Path) -> None:
        path = written(tmp_path)
        flip(path / f"{0:020d}.log", len(BATCHES[0].encoded()) + 65)
        log = open_with(path, recovery_point=0)
        assert log.log_end_offset == 5
        assert [segment.base_offset for segment in log.segments] == [0]
        assert log.valid_bytes == len(BATCHES[0].encoded())

    def test_what_lies_below_the_recovery_point_is_trusted(self, tmp_path: Path) -> None:
        path = written(tmp_path)
        flip(path / f"{0:020d}.log", 65)
        assert open_with(path, recovery_point=10).log_end_offset == 20
        assert open_with(path, recovery_point=9).log_end_offset == 0

    def test_a_torn_batch_is_left_out(self, tmp_path: Path) -> None:
        path = written(tmp_path)
        last = path / f"{10:020d}.log"
        last.write_bytes(last.read_bytes()[:-1])
        assert open_with(path).log_end_offset == 15

    def test_it_is_told_what_ends_the_log_and_where(self, tmp_path: Path) -> None:
        path = written(tmp_path)
        position = len(BATCHES[0].encoded())
        flip(path / f"{0:020d}.log", position + 65)
        damage = open_with(path, recovery_point=0).damage
        assert isinstance(damage, CorruptBatchError)
        assert (damage.file, damage.position, damage.offset) == (str(path / f"{0:020d}.log"), position, 5)

    def test_preallocated_zeros_end_the_log_only_before_other_segments(self, tmp_path: Path) -> None:
        path = written(tmp_path)
        for base, end in ((10, 20), (0, 10)):
            with open(path / f"{base:020d}.log", "ab") as file:
                file.write(bytes(1_000))
            log = open_with(path)
            assert log.log_end_offset == end
            assert (log.damage is None) == (base == 10)

    def test_a_tail_that_a_broker_is_writing_is_read_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = written(tmp_path)
        last = path / f"{10:020d}.log"
        whole = last.read_bytes()
        last.write_bytes(whole[:-1])
        healed = SimpleNamespace(sleep=lambda _: last.write_bytes(whole))
        monkeypatch.setattr("logstore.offline.tail_rereader.time", healed)
        log = open_with(path)
        assert (log.log_end_offset, log.damage, log.valid_bytes) == (20, None, len(whole))
        assert log.history.entries == [(0, 0), (2, 10), (3, 15)]

    def test_a_tail_that_a_broker_truncates_meanwhile_is_no_damage(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = written(tmp_path)
        last = path / f"{10:020d}.log"
        last.write_bytes(last.read_bytes()[:-1])
        truncated = SimpleNamespace(sleep=lambda _: last.write_bytes(b""))
        monkeypatch.setattr("logstore.offline.tail_rereader.time", truncated)
        assert open_with(path).damage is None

    def test_epochs_that_only_the_batches_tell_are_added(self, tmp_path: Path) -> None:
        path = written(tmp_path)
        (path / "leader-epoch-checkpoint").write_bytes(format_checkpoint([(0, 0)]))
        assert open_with(path).history.entries == [(0, 0), (2, 10), (3, 15)]
        assert open_with(path, clean_shutdown=True).history.entries == [(0, 0)]


class TestAfterACleanStop:
    def test_no_checksum_is_looked_at(self, tmp_path: Path) -> None:
        path = written(tmp_path)
        flip(path / f"{10:020d}.log", 65)
        assert open_with(path, clean_shutdown=True).log_end_offset == 20
        assert open_with(path, clean_shutdown=False).log_end_offset == 10

    def test_only_the_last_segment_is_read(self, tmp_path: Path) -> None:
        path = written(tmp_path)
        (path / f"{0:020d}.log").write_bytes(b"torn")
        assert open_with(path, clean_shutdown=True).log_end_offset == 20

    def test_epochs_lost_from_the_checkpoint_are_found_in_the_batches(self, tmp_path: Path) -> None:
        path = written(tmp_path)
        (path / "leader-epoch-checkpoint").write_bytes(b"0\n0\n")
        log = open_with(path, clean_shutdown=True)
        assert log.history.entries == []
        assert log.lineage().entries == [(0, 0), (2, 10), (3, 15)]


def test_an_epoch_in_which_nothing_was_written_yet_belongs_to_the_lineage(tmp_path: Path) -> None:
    path = written(tmp_path)
    (path / "leader-epoch-checkpoint").write_bytes(format_checkpoint([(0, 0), (1, 7), (3, 15)]))
    assert open_with(path, clean_shutdown=True).lineage().entries == [(0, 0), (1, 7), (3, 15)]


@pytest.mark.parametrize(("told", "known"), [(3, 7), (12, 12), (99, 20)])
def test_the_high_watermark_is_kept_within_the_log(told: int, known: int, tmp_path: Path) -> None:
    path = written(tmp_path)
    assert open_with(path, high_watermark=told, log_start_offset=7).high_watermark == known


def test_a_high_watermark_that_no_file_tells_is_unknown(tmp_path: Path) -> None:
    assert open_with(written(tmp_path)).high_watermark is None


def test_epochs_below_the_logs_start_are_dropped(tmp_path: Path) -> None:
    assert open_with(written(tmp_path), log_start_offset=12).history.entries == [(2, 12), (3, 15)]


def test_a_truncation_counts_no_batch_that_recovery_has_cut_off(tmp_path: Path) -> None:
    path = written(tmp_path, segment_batches=4)
    before_last = sum(len(each.encoded()) for each in BATCHES[:3])
    flip(path / f"{0:020d}.log", before_last + 65)
    assert open_with(path).removed_by_truncation(7) == RemovedBatches(10, sum(len(b.encoded()) for b in BATCHES[1:3]))
    assert open_with(path).removed_by_truncation(15) == RemovedBatches(0, 0)
