"""Logs whose beginning is in remote storage (KIP-405), or may be: nothing is cut of what tells of it."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from epoch.checkpoint import LeaderEpochCheckpoint
from logstore.directory.log_directory import LogDirectory
from logstore.errors import OffsetOutOfRangeError
from logstore.file_name import FileKind, parse_file_name
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from logstore.files.offset_checkpoint import (
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    OffsetCheckpoint,
)
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import RecoveredLog
from logstore.topic_partition import TopicPartition
from logstore.verify import compare_epochs
from tests.campaign import Campaign
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease

OPENED = Campaign("logs with remote storage against Kafka", full=2_000, share=25)
PARTITION = TopicPartition("t", 0)
SMALL = {"segment_bytes": 1_000, "retention_ms": -1}


def write_tiered(root: Path, random: Random, *, start: int | None, is_torn: bool = False) -> Path:
    """A log of several epochs without its first segments; its `start` is recorded, where there is one."""
    directory = root / str(PARTITION)
    root.parent.mkdir(exist_ok=True)
    with LogDirectory.open(root, LogConfig(**SMALL), replicated=True) as logs:
        log = logs.create(PARTITION)
        for epoch in range(random.randint(2, 5)):
            leader = log.lead(epoch)
            for _ in range(random.randint(2, 6)):
                leader.append([random.randbytes(random.randint(50, 150)) for _ in range(random.randint(1, 6))])
        bases = [each.base_offset for each in log.segments]
    kept = random.randint(1, len(bases) - 1)
    for path in list(directory.iterdir()):
        base = parse_file_name(path.name).base_offset
        if base is not None and base < bases[kept]:
            path.unlink()
    if start is not None:
        OffsetCheckpoint({PARTITION: start}).write(root / LOG_START_OFFSET_CHECKPOINT)
    if is_torn:
        (root / CLEAN_SHUTDOWN_NAME).unlink()
        OffsetCheckpoint({PARTITION: bases[kept]}).write(root / RECOVERY_POINT_CHECKPOINT)
        last = directory / f"{bases[-1]:020d}.log"
        with last.open("r+b") as file:
            file.truncate(max(last.stat().st_size - random.randint(1, 200), 0))
    return directory


def told(root: Path) -> tuple[list[tuple[int, int]], OffsetCheckpoint]:
    """Its leader epochs and starts, as they stand in the files."""
    entries = LeaderEpochCheckpoint(root / str(PARTITION)).read()
    return [tuple(each) for each in entries], OffsetCheckpoint.read(root / LOG_START_OFFSET_CHECKPOINT)


@pytest.fixture(scope="module")
def kafka(release: KafkaRelease) -> Iterator[JavaProgram]:
    with JavaProgram(release, "LogOracle") as oracle:
        yield oracle


def test_start_and_epochs_are_those_of_kafkas_loader(tmp_path: Path, kafka: JavaProgram) -> None:
    for number in range(OPENED.count):
        compare_loaded(tmp_path / str(number), kafka, Random(f"{OPENED.seed} {number}"))
    OPENED.report(OPENED.count)


def compare_loaded(tmp_path: Path, kafka: JavaProgram, random: Random) -> None:
    """One random log, opened by both."""
    is_torn = random.random() < 0.5
    start = random.choice([None, 0, random.randint(0, 8)])
    directory = write_tiered(tmp_path / "ours", random, start=start, is_torn=is_torn)
    (tmp_path / "kafka").mkdir(parents=True)
    kafkas = Path(shutil.copytree(directory, tmp_path / "kafka" / str(PARTITION)))
    recovery_point = OffsetCheckpoint.read(directory.parent / RECOVERY_POINT_CHECKPOINT).get(PARTITION, 0)
    is_remote = random.random() < 0.7
    answer = kafka.ask(
        f"open {kafkas} remote={str(is_remote).lower()} segmentBytes=1000 logStart={start or 0} "
        f"recoveryPoint={recovery_point} clean={str(not is_torn).lower()}",
        "epochs",
        "close",
    )
    config = LogConfig(**SMALL, remote_storage_enable=is_remote)
    with LogDirectory.open(directory.parent, config, replicated=True) as logs:
        log = logs.log(PARTITION)
        assert f"logStart={log.log_start_offset} leo={log.log_end_offset} " in answer[0]
        ours = " ".join(f"{epoch}:{offset}" for epoch, offset in log.epochs.entries)
    if is_remote:  # of the others we cut the epochs below the first segment, too
        assert ours == answer[1]
        assert (directory / FileKind.LEADER_EPOCH_CHECKPOINT.value).read_text() == (
            kafkas / FileKind.LEADER_EPOCH_CHECKPOINT.value
        ).read_text()
        assert told(directory.parent)[1] == {PARTITION: start or 0}


@pytest.mark.parametrize("seed", range(12))
def test_where_nobody_says_it_nothing_is_cut(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    start = random.choice([None, 0, 1])
    directory = write_tiered(tmp_path, random, start=start, is_torn=random.random() < 0.5)
    epochs, _ = told(tmp_path)
    assert compare_epochs(PartitionDirectory.open(directory)).rebuilt.entries[0] == epochs[0]
    assert RecoveredLog.load(PartitionDirectory.open(directory)).history.entries[0] == epochs[0]
    for _ in range(2):
        with LogDirectory.open(tmp_path, LogConfig(**SMALL), replicated=True) as logs:
            log = logs.log(PARTITION)
            end = log.log_end_offset
            first = log.segments[0].base_offset
            assert log.local_log_start_offset == first
            assert log.log_start_offset == (first if start is None else start)
            assert next(iter(log.records())).offset == first
            if first > log.log_start_offset:
                with pytest.raises(OffsetOutOfRangeError, match=f"in remote storage or lost: .*{first:,}"):
                    log.read(log.log_start_offset, 1)
        expected = [each for each in epochs if each[1] < end or each == epochs[-1]]
        assert told(tmp_path)[0][: len(expected)] == expected[: len(told(tmp_path)[0])]
        assert told(tmp_path)[0][0] == epochs[0]
        assert told(tmp_path)[1].get(PARTITION) == start


def test_who_opens_one_such_log_alone_cuts_nothing(tmp_path: Path) -> None:
    directory = write_tiered(tmp_path, Random(5), start=0)
    epochs, starts = told(tmp_path)
    for _ in range(2):
        with Log.open(directory, replicated=True):
            pass
        assert told(tmp_path) == (epochs, starts)


@pytest.mark.parametrize("has_remote", [True, None])
def test_a_truncation_below_the_first_segment_keeps_what_is_before_it(tmp_path: Path, has_remote: bool | None) -> None:
    directory = write_tiered(tmp_path, Random(3), start=0)
    epochs, _ = told(tmp_path)
    config = LogConfig(**SMALL, remote_storage_enable=has_remote)
    with LogDirectory.open(tmp_path, config, replicated=True) as logs:
        log = logs.log(PARTITION)
        cut = log.segments[0].base_offset - 1
        log.truncate_to(cut)
        assert (log.log_start_offset, log.log_end_offset) == (0, cut)
    assert directory.is_dir()
    assert told(tmp_path) == ([each for each in epochs if each[1] < cut], {PARTITION: 0})


def test_retention_leaves_the_start_and_deletes_nothing_of_which_nobody_knows_that_it_is_remote(tmp_path: Path) -> None:
    write_tiered(tmp_path, Random(1), start=0)
    before = told(tmp_path)
    config = LogConfig(segment_bytes=1_000, retention_ms=1, remote_storage_enable=True)
    with LogDirectory.open(tmp_path, config, replicated=True) as logs:
        log = logs.log(PARTITION)
        log.update_high_watermark(log.log_end_offset)
        assert log.delete_old_segments() == 0
    assert told(tmp_path) == before
    config = LogConfig(segment_bytes=1_000, retention_ms=1)
    with LogDirectory.open(tmp_path, config, replicated=True) as logs:
        log = logs.log(PARTITION)
        log.update_high_watermark(log.log_end_offset)
        assert log.delete_old_segments() > 0  # whoever sets a time asks for it
        assert log.local_log_start_offset == log.log_end_offset
    assert told(tmp_path) == before
