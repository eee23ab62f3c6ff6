"""At whatever step a crash falls, and whatever it leaves: what was flushed is there, and all that is there is whole.

Every step that a workload does on the disk is noted. For each prefix of the steps all states are made that a power
loss may leave (`tests/crash_states.py` says what is assumed of the disk), and the log is opened on each of them.
"""

import random
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from epoch.entry import EpochEntry
from epoch.history import EpochHistory
from logstore.batch.batches import read_batches
from logstore.batch.control import ControlRecord, ControlType
from logstore.batch.record import Record
from logstore.file_name import FileFate, parse_file_name
from logstore.files.root_checkpoints import RootCheckpoints
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.recovery.damage.epoch_order import OLDER_BATCH
from logstore.topic_partition import parse_directory_name
from tests.campaign import Campaign
from tests.crash_states import State, crash_states, write_state
from tests.logstore.directories import assert_sound
from tests.logstore.log_workloads import (
    NOW,
    PARTITION,
    RANDOM_LIVES,
    DirectoryWorkload,
    LogUse,
    Promise,
    StoredBatch,
    Workload,
    lives,
    stored,
)
from tests.oracle.kafka import JavaProgram

STATES = Campaign("log crash states", full=30_000, share=1_000)
COMPARED = Campaign("log crash states, opened by Kafka", full=4_000, share=200)
LIVES_OF_A_SHARE = 6
KAFKA_GIVES_UP = ("Attempt to append to a full", "Split operation is only permitted", "NoSuchElementException")
KAFKA_CANNOT_SPLIT = "Found record size 0 smaller than minimum record overhead"
SPLITS = ("overflow", "interrupted_split")
"""Lives in which a segment must be split."""
STRIDE = 7
"""A share looks at one state of so many."""


@dataclass
class Crash:
    """One state that a crash left, in a directory, and what had been promised before it."""

    root: Path
    workload: Workload | DirectoryWorkload
    promises: Mapping[str, Promise]

    def check(self) -> None:
        """Open the logs as after any crash; look at all that is in them; use them; close them; verify their files."""
        with self.workload.open_after_crash(self.root) as logs:
            found = {path.rpartition("/")[2]: log for path, log in logs.items()}
            assert set(found) >= set(self.promises), "a partition is lost"
            for name, log in found.items():
                check_log(log, self.workload.uses[name], self.promises.get(name, Promise()))
            starts = {path: log.log_start_offset for path, log in logs.items()}
        for path, start in starts.items():
            assert_sound(self.root / path, start)


def check_log(log: Log, use: LogUse, promise: Promise) -> None:
    """Check one log after a crash."""
    batches = whole_batches(log)
    check_promise(log, batches, use.versions[promise.version], promise)
    assert any(is_part(batches, version) for version in use.versions), "no such log ever was"
    check_epochs(log, batches)
    check_no_idle_leader(log)
    check_transactions(log, batches)
    check_goes_on(log)


def check_promise(log: Log, batches: list[StoredBatch], version: list[StoredBatch], promise: Promise) -> None:
    """Nothing that was flushed is lost, and nothing that was deleted is back."""
    promised = {each for each in version if promise.start <= each.last_offset < promise.end}
    assert promised <= set(batches), "a flushed batch is lost"
    assert not promised or log.log_start_offset <= max(promise.start, min(each.base_offset for each in promised))
    assert log.log_start_offset >= promise.deleted_before, "deleted records are back"


def check_epochs(log: Log, batches: list[StoredBatch]) -> None:
    """The leader epochs are those of the batches."""
    told = [(batch.leader_epoch, batch.base_offset) for batch in batches]
    assert readable(log, log.epochs.entries) == readable(log, EpochHistory.from_batches(told).entries)


def check_no_idle_leader(log: Log) -> None:
    """No epoch begins where nothing was written yet; who led up to the start of an empty log is still known there."""
    beyond = [entry for entry in log.epochs.entries if entry.start_offset >= log.log_end_offset]
    assert not beyond or [entry.start_offset for entry in beyond] == [log.log_start_offset], "an epoch is left behind"


def readable(log: Log, epochs: Iterable[EpochEntry]) -> EpochHistory:
    """Who led the records that can be read."""
    return EpochHistory(epochs).truncate_from_start(log.log_start_offset).truncate_to(log.log_end_offset)


def check_transactions(log: Log, batches: list[StoredBatch]) -> None:
    """Readers of committed records are told what was aborted, and stop where a transaction is open."""
    aborted, begun = set(), dict[int, int]()
    for stored_batch in batches:
        [batch] = read_batches(memoryview(stored_batch.data))
        if batch.is_control:
            [marker] = batch.records()
            start = begun.pop(batch.producer_id, None)
            if start is not None and ControlRecord.of(marker).type is ControlType.ABORT:
                aborted.add((batch.producer_id, start, batch.base_offset))
        elif batch.is_transactional:
            begun.setdefault(batch.producer_id, batch.base_offset)
    told = {
        (each.producer_id, each.first_offset, each.last_offset)
        for segment in log.segments
        for each in segment.transaction_index.entries
    }
    assert told == aborted
    log.update_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == min(begun.values(), default=log.log_end_offset)


def check_goes_on(log: Log) -> None:
    """The log takes more, and has it."""
    offset = log.log_end_offset
    log.append([Record(0, NOW, None, b"after the crash")], leader_epoch=1_000)
    [record] = log.read(offset, 1 << 20).records()
    assert record.value == b"after the crash"
    log.flush()


def whole_batches(log: Log) -> list[StoredBatch]:
    """All batches of a log; each is whole, and no offset is without one."""
    found: list[StoredBatch] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        batches = stored(log, offset)
        assert batches, f"nothing at offset {offset}"
        assert batches[0].base_offset <= offset
        found += batches
        offset = found[-1].last_offset + 1
    return found


def is_part(batches: list[StoredBatch], version: list[StoredBatch]) -> bool:
    """Whether the batches stand in a version one after another."""
    if not batches:
        return True
    first = version.index(batches[0]) if batches[0] in version else len(version)
    return batches == version[first : first + len(batches)]


@dataclass
class StateOnDisk:
    """A directory that holds one state after another."""

    root: Path

    def put(self, state: State) -> Path:
        if self.root.exists():
            shutil.rmtree(self.root)
        self.root.mkdir()
        write_state(state, self.root)
        return self.root


def states_of(workload: Workload | DirectoryWorkload) -> Iterator[tuple[Mapping[str, Promise], State]]:
    """All states that crashes of one life may leave."""
    for told, state in crash_states(workload.disk.steps, workload.root):
        yield told if isinstance(told, dict) else {}, state


def chosen_lives(root: Path) -> Iterator[Workload | DirectoryWorkload]:
    """All lives in a full run; otherwise some of the random ones, others each day."""
    some = random.Random(STATES.seed).sample(range(RANDOM_LIVES), LIVES_OF_A_SHARE)
    return lives(root, range(RANDOM_LIVES) if is_full(STATES) else some)


def is_full(campaign: Campaign) -> bool:
    return campaign.count == campaign.full


def test_nothing_flushed_is_lost_and_nothing_torn_is_served(memory_dir: Path) -> None:
    stride = 1 if is_full(STATES) else STRIDE
    number = checked = 0
    place = StateOnDisk(memory_dir / "crashed")
    for workload in chosen_lives(memory_dir):
        for promises, state in states_of(workload):
            number += 1
            if (number + STATES.seed) % stride:
                continue
            crash = Crash(place.put(state), workload, promises)
            try:
                crash.check()
            except BaseException as error:
                error.add_note(f"state {number}, {workload.root.name}, {promises}, {sorted(map(str, state))}")
                raise
            checked += 1
    assert checked >= STATES.count
    STATES.report(checked)


def kafkas_answers(oracle: JavaProgram, directory: Path, config: LogConfig) -> tuple[int, list[EpochEntry]] | str:
    """Let Kafka's LogLoader open what a crash left: the log's end and epochs, or what it fails with."""
    known = RootCheckpoints.read(directory).of(parse_directory_name(directory.name).topic_partition)
    opened = oracle.ask(
        f"open {directory} segmentBytes={config.segment_bytes} indexInterval={config.index_interval_bytes} "
        f"indexBytes={config.segment_index_bytes} clean={str(known.clean_shutdown).lower()} "
        f"recoveryPoint={known.recovery_point or 0} logStart={known.log_start_offset or 0}"
    )[0]
    if not opened.startswith("ok"):
        return opened
    end, epochs, _ = oracle.ask("leo", "epochs", "crash")
    return int(end), [EpochEntry(*map(int, entry.split(":"))) for entry in epochs.split()]


def begun_segment(log: Log) -> int | None:
    """Where the segment begins in which the log goes on although the one before may not have been synced."""
    names = map(parse_file_name, log.report.renamed_files)
    return next((name.base_offset for name in names if name.fate is FileFate.BEGUN), None)


def test_kafka_opens_what_a_crash_left_with_the_same_end_and_epochs(log_oracle: JavaProgram, memory_dir: Path) -> None:
    """Kafka may keep an epoch whose truncation the crash undid, or whose batches it did not look at: ours never does.

    Kafka gives up where recovery fills an index that takes few entries, where a segment must be split that has a torn
    end or zeros there, and where the first bytes of a batch are zeros, but for which it would be whole: they are its
    base offset, and no checksum covers that. It brings batches back whose truncation the crash undid; ours drops what
    the history of epochs no longer has. It does not know a segment that was begun while the one before was synced.
    """
    stride = 6 if is_full(COMPARED) else 5 * STRIDE
    number = compared = refused = stale = undone = begun = 0
    ours_place, kafkas_place = StateOnDisk(memory_dir / "ours"), StateOnDisk(memory_dir / "kafkas")
    (memory_dir / "compared").mkdir()
    for workload in chosen_lives(memory_dir / "compared"):
        for _, state in states_of(workload) if isinstance(workload, Workload) else ():
            number += 1
            if (number + COMPARED.seed) % stride or Path(PARTITION) not in state:
                continue
            theirs = kafkas_answers(log_oracle, kafkas_place.put(state) / PARTITION, workload.config)
            if isinstance(theirs, str):
                is_known = KAFKA_CANNOT_SPLIT in theirs and workload.root.name in SPLITS
                assert is_known or any(reason in theirs for reason in KAFKA_GIVES_UP), f"{workload.root.name}: {theirs}"
                refused += 1
                continue
            end, epochs = theirs
            ours = ours_place.put(state) / PARTITION
            with Log.open(ours, workload.config, damage=workload.damage, clock=lambda: NOW) as log:
                goes_on_at = begun_segment(log)
                if goes_on_at is not None:
                    log.truncate_to(goes_on_at)  # to what Kafka knows
                    begun += 1
                if log.log_end_offset < end and {each.reason for each in log.report.dropped} == {OLDER_BATCH}:
                    undone += 1
                    continue
                assert log.log_end_offset == end, f"state {number}, {workload.root.name}"
                if readable(log, epochs) != readable(log, log.epochs.entries):
                    check_epochs(log, whole_batches(log))
                    stale += 1
            compared += 1
    told = f"Kafka gives up on {refused}, keeps a wrong epoch in {stale}, undoes a truncation in {undone}"
    told += f", does without a segment that was begun in {begun}"
    COMPARED.report(compared, told, beside=log_oracle.release)
