"""After a crash, whatever it left, we open what Kafka's own LogLoader opens: same end, epochs, segments, indexes.

Kafka writes a log (batches of several leaders and producers, rolls, truncations), stops in the middle, and its
directory is damaged. Then both open a copy of it.
"""

import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from epoch.history import EpochHistory
from logstore.files.producer_snapshot import ProducerSnapshot, ProducerStateEntry
from logstore.log_config import LogConfig
from logstore.recovery.loaded_log import LoadedLog
from logstore.recovery.log_loader import load_log
from tests.campaign import Campaign
from tests.logstore.batches import batch, record
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease

SETTINGS = "segmentBytes=1500 indexInterval=150 indexBytes=4096"
CONFIG = LogConfig(segment_bytes=1500, index_interval_bytes=150, segment_index_bytes=4096)
NOW = time.time_ns() // 1_000_000
"""Kafka forgets producers whose last record is more than a day old, by the system's clock."""
CODECS = ("none", "none", "gzip", "lz4", "zstd", "snappy")

CRASHES = Campaign("log loader against Kafka", full=3_000, share=60)
OVERFLOWS = Campaign("split segments against Kafka", full=1_000, share=20)


@pytest.fixture(scope="module")
def oracle(release: KafkaRelease) -> Iterator[JavaProgram]:
    with JavaProgram(release, "LogOracle") as program:
        yield program


class Producers:
    """What idempotent and transactional producers would send next."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._sequences: dict[int, int] = {}
        self._open: set[int] = set()

    def command(self, epoch: int, moment: int) -> str:
        """One append by one of them, or the end of a transaction."""
        producer = self._rng.randrange(3)
        if producer in self._open and self._rng.random() < 0.4:
            self._open.remove(producer)
            return f"endTxn {epoch} {producer} 0 {self._rng.choice(['commit', 'abort'])} {moment}"
        transactional = producer == 2 or producer in self._open
        if transactional:
            self._open.add(producer)
        count, sequence = self._rng.randint(1, 4), self._sequences.get(producer, 0)
        self._sequences[producer] = sequence + count
        return (
            f"appendLeader {epoch} {count} {self._rng.randint(0, 120)} {moment} {self._rng.choice(CODECS)} "
            f"pid={producer} pepoch=0 seq={sequence} txn={int(transactional)}"
        )


def a_life(rng: random.Random) -> list[str]:
    """What happens to a log before it crashes. Truncations and producers, whose sequences they break, keep apart."""
    commands, epoch, moment = [], 0, NOW
    producers = Producers(rng) if rng.random() < 0.5 else None
    for _ in range(rng.randint(1, 25)):
        moment += rng.randint(-3, 50)
        kind = rng.random()
        if kind < 0.15:
            epoch += rng.randint(1, 3)
        if kind < 0.65 or (producers and kind < 0.8):
            plain = f"appendLeader {epoch} {rng.randint(1, 5)} {rng.randint(0, 150)} {moment} {rng.choice(CODECS)}"
            commands.append(producers.command(epoch, moment) if producers and rng.random() < 0.6 else plain)
        elif kind < 0.72 and not producers:
            commands.append(f"truncateTo {rng.randint(0, 60)}")
        elif kind < 0.8:
            commands.append("roll")
        elif kind < 0.88:
            commands.append("flush true")
        elif kind < 0.93:
            commands.append(f"hw {rng.randint(0, 90)}")
        elif kind < 0.96:
            commands.append(f"deleteRecords {rng.randint(0, 30)}")
    return commands


def damage(directory: Path, recovery_point: int, rng: random.Random) -> str:
    """Do to the directory what a crash may do; say what. What was flushed is only damaged by a bad disk."""
    logs = sorted(directory.glob("*.log"))
    victim = rng.choice([log for log in logs if int(log.stem) >= recovery_point] or logs[-1:])
    data = victim.read_bytes()
    # A time index that is missing alone stays empty in Kafka, and is built again here.
    indexes = sorted(directory.glob("*.index"))
    kind = rng.randrange(9)
    if kind == 0 and data:
        victim.write_bytes(data[: rng.randrange(len(data))])
        return f"{victim.name} cut"
    if kind == 1 and data:
        # Neither the magic nor a base offset is under a checksum: there Kafka believes anything.
        at = rng.randrange(len(data))
        position = batch_at(data, at)
        at = max(at, position + 17)
        if at < len(data):
            victim.write_bytes(data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :])
        return f"{victim.name} changed at {at}"
    if kind == 2:
        victim.write_bytes(data + rng.randbytes(rng.randint(1, 10)))
        return f"{victim.name} with a few more bytes"
    if kind == 3:
        victim.write_bytes(data + bytes(rng.randint(1, 300)))
        return f"{victim.name} with zeros behind"
    if kind == 4 and indexes:
        index = rng.choice(indexes)
        index.unlink()
        return f"{index.name} removed"
    if kind == 5:
        for snapshot in directory.glob("*.snapshot"):
            if rng.random() < 0.5:
                snapshot.unlink()
        return "snapshots removed"
    if kind == 6:
        shutil.copy(victim, victim.with_suffix(".log.deleted"))
        (directory / f"{9_999:020d}.index").write_bytes(b"")
        shutil.copy(victim, victim.with_suffix(".log.cleaned"))
        return "left-overs of deletion and cleaning"
    if kind == 7:
        for path in directory.glob(f"{victim.stem}.*"):
            if path.suffix != ".snapshot":
                shutil.copy(path, path.with_name(path.name + ".swap"))
        return f"{victim.name} swapped"
    return "nothing"


def batch_at(data: bytes, position: int) -> int:
    """Where the batch begins that this byte is part of."""
    start = 0
    while (end := start + 12 + int.from_bytes(data[start + 8 : start + 12])) <= position:
        start = end
    return start


def crashed_log(oracle: JavaProgram, directory: Path, rng: random.Random) -> tuple[int, int, str]:
    """Damage a log that Kafka wrote and crashed in `directory`; its recovery point, its start, and the damage."""
    oracle.ask("autotasks true", f"open {directory} {SETTINGS} clean=true recoveryPoint=0 logStart=0", *a_life(rng))
    state = oracle.ask("state", "crash")[0]
    was = dict(field.split("=") for field in state.split())
    recovery_point = int(was["recoveryPoint"])
    return recovery_point, int(was["logStart"]), damage(directory, recovery_point, rng)


def test_we_open_what_a_crash_left_as_kafka_does(oracle: JavaProgram, tmp_path: Path) -> None:
    for number in range(CRASHES.count):
        seed = f"{CRASHES.seed}/{number}"
        rng = random.Random(seed)
        original = tmp_path / f"{number}/written/t-0"
        recovery_point, log_start, said = crashed_log(oracle, original, rng)
        ours, theirs = tmp_path / f"{number}/ours/t-0", tmp_path / f"{number}/theirs/t-0"
        shutil.copytree(original, ours)
        shutil.copytree(original, theirs)
        loaded = load_log(ours, CONFIG, log_start_offset=log_start, recovery_point=recovery_point, clock=lambda: NOW)
        opened, *told, epochs = oracle.ask(
            f"open {theirs} {SETTINGS} clean=false recoveryPoint={recovery_point} logStart={log_start}",
            "state",
            "segments",
            "epochs",
        )
        assert opened.startswith("ok"), (seed, said, opened)
        assert in_their_words(loaded) == told, (seed, said)
        # Kafka restores no epoch below the latest it had: of a log without records it may not know who led before.
        is_empty = loaded.log_start_offset == loaded.log_end_offset
        assert epochs == epoch_words(loaded) or (is_empty and not epochs), (seed, said)
        assert index_words(loaded) == asked_indexes(oracle, loaded), (seed, said)
        oracle.ask("close")
        assert_same_snapshots(snapshots(ours), snapshots(theirs), log_start, (seed, said))
        for segment in loaded.segments:
            segment.close()
        for path in theirs.glob("*.txnindex"):
            assert (ours / path.name).read_bytes() == path.read_bytes(), (seed, said)
        shutil.rmtree(tmp_path / str(number))
    CRASHES.report(CRASHES.count, beside=oracle.release)


def far_apart(rng: random.Random, base_offset: int) -> bytes:
    """A segment as early versions of the log cleaner wrote it: too far from its first offset to its last."""
    data, offset = b"", base_offset
    for number in range(rng.randint(3, 12)):
        # Where there is no batch at the segment's first offset, Kafka may leave it beside its parts.
        offset += rng.choice([0, 0, 0, 5, 2**31 - 2, 2**31, 2**33]) if data else 0
        reach = rng.choice([0, 0, 3, 2**31 - 1])
        records = [record(value=rng.randbytes(rng.randint(0, 80)))]
        moment = NOW + rng.randint(0, 50)
        data += batch(
            base_offset=offset,
            records=records,
            last_offset_delta=reach,
            leader_epoch=number // 4,
            base_timestamp=moment,
            max_timestamp=moment,
        )
        offset += reach + 1
    return data


def test_segments_whose_offsets_are_too_far_apart_are_split_as_kafka_splits_them(
    oracle: JavaProgram, tmp_path: Path
) -> None:
    for number in range(OVERFLOWS.count):
        seed = f"{OVERFLOWS.seed}/overflow/{number}"
        rng = random.Random(seed)
        ours, theirs = tmp_path / f"{number}/ours/t-0", tmp_path / f"{number}/theirs/t-0"
        ours.mkdir(parents=True)
        base_offsets = [0, 2**40][: rng.randint(1, 2)]
        for base_offset in base_offsets:
            data = far_apart(rng, base_offset)
            # Behind a torn segment without indexes Kafka keeps the next one, and so a hole.
            torn = rng.choice([0, 0, 20]) if base_offset == base_offsets[-1] else 0
            (ours / f"{base_offset:020d}.log").write_bytes(data[: len(data) - torn])
        recovery_point = rng.choice([0, 2**40])
        shutil.copytree(ours, theirs)
        settings = f"{SETTINGS} clean=false recoveryPoint={recovery_point} logStart=0"
        opened, *told = oracle.ask(f"open {theirs} {settings}", "state", "segments")
        if not opened.startswith("ok"):
            # It cannot split before a torn batch.
            assert "NoSuchElement" in opened, (seed, opened)
            continue
        loaded = load_log(ours, CONFIG, recovery_point=recovery_point, clock=lambda: NOW)
        assert in_their_words(loaded) == told, seed
        # Kafka lets an epoch begin too late where it had to split a segment below the recovery point.
        assert list(loaded.epochs.entries) == list(EpochHistory().assign_many(epochs_of(loaded)).entries), seed
        assert index_words(loaded) == asked_indexes(oracle, loaded), seed
        oracle.ask("close")
        for segment in loaded.segments:
            segment.close()
            name = segment.path.name
            assert (ours / name).read_bytes() == (theirs / name).read_bytes(), seed
    OVERFLOWS.report(OVERFLOWS.count, beside=oracle.release)


def epochs_of(loaded: LoadedLog) -> Iterator[tuple[int, int]]:
    """Who led each batch, and its offset."""
    for segment in loaded.segments:
        for each in segment.batches():
            yield each.leader_epoch, each.base_offset


def in_their_words(loaded: LoadedLog) -> list[str]:
    """The log as the oracle tells it. UnifiedLog, like our Log, lets the recovery point begin at the log's start."""
    start, end = loaded.log_start_offset, loaded.log_end_offset
    recovery_point = max(loaded.recovery_point, start)
    return [
        f"logStart={start} leo={end} hw={start} recoveryPoint={recovery_point} segments={len(loaded.segments)}",
        " ".join(f"{segment.base_offset}:{segment.size}" for segment in loaded.segments),
    ]


def epoch_words(loaded: LoadedLog) -> str:
    return " ".join(f"{epoch}:{start}" for epoch, start in loaded.epochs.entries)


def index_words(loaded: LoadedLog) -> list[str]:
    """All index entries as the oracle tells them."""
    words = []
    for segment in loaded.segments:
        words.append(" ".join(f"{offset}:{position}" for offset, position in segment.offset_index.entries) or "empty")
        words.append(" ".join(f"{timestamp}:{offset}" for timestamp, offset in segment.time_index.entries) or "empty")
    return words


def asked_indexes(oracle: JavaProgram, loaded: LoadedLog) -> list[str]:
    """The same as the oracle has them."""
    kinds = ("index", "timeindex")
    return oracle.ask(*(f"{kind} {segment.base_offset}" for segment in loaded.segments for kind in kinds))


def assert_same_snapshots(
    ours: dict[str, set[ProducerStateEntry]],
    theirs: dict[str, set[ProducerStateEntry]],
    log_start: int,
    context: object,
) -> None:
    """What is known of the producers at the log's end is the same, and wherever else both have a snapshot.

    Which older ones are left is no matter: Kafka removes some when it rebuilds an index, and makes others. It then
    also forgets what lies below the log's start: producers that wrote last there, and that a transaction began there.
    We go on knowing both.
    """
    for name in ours.keys() & theirs.keys():
        our_producers = {entry.producer_id: entry for entry in ours[name]}
        kafkas_producers = {entry.producer_id: entry for entry in theirs[name]}
        for producer_id, entry in our_producers.items():
            kafkas = kafkas_producers.pop(producer_id, None)
            if kafkas is None:
                assert entry.last_offset < log_start, (name, context)
            elif entry.current_transaction_first_offset < log_start <= kafkas.current_transaction_first_offset:
                first_offset = kafkas.current_transaction_first_offset
                assert entry._replace(current_transaction_first_offset=first_offset) == kafkas, (name, context)
            else:
                assert entry == kafkas, (name, context)
        assert kafkas_producers == {}, (name, context)
    assert max(ours, default="") == max(theirs, default=""), context


def snapshots(directory: Path) -> dict[str, set[ProducerStateEntry]]:
    """The producers' snapshots, whose order is of no meaning."""
    return {path.name: set(ProducerSnapshot.read(path).entries) for path in directory.glob("*.snapshot")}
