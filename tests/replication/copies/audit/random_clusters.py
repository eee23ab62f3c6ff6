"""Copies of random partitions: logs that agree, lag, fork, were compacted or cut, and files that are damaged."""

import random
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from logstore import LogConfig, LogDirectory, Record, TopicPartition
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.compression.codec import Codec
from logstore.log.log import Log
from tests.disk import Unsynced
from tests.logstore.verify.test_fuzz_verify import damage
from tests.replication.copies.audit.snapshot_roots import META

BROKERS = 3
NOW = 1_700_000_000_000
CONFIG = LogConfig(
    segment_bytes=2_000, index_interval_bytes=300, retention_ms=-1, file_delete_delay_ms=0, max_message_bytes=1 << 20
)


class Written(NamedTuple):
    """One append of a leader."""

    epoch: int
    records: int
    size: int
    codec: Codec
    producer: int | None
    """The id of a transactional one."""
    ends: bool | None
    """Whether a marker follows that commits its transaction, or aborts it."""
    branch: str


def write_clusters(place: Path, seed: object, numbers: Iterable[int]) -> list[Path]:
    """Write three brokers' roots; each number is a topic of its own, of one partition."""
    roots = [place / f"broker-{number}" for number in range(1, BROKERS + 1)]
    chances = {number: random.Random(f"{seed}-{number}") for number in numbers}
    histories = {number: _histories(chance) for number, chance in chances.items()}
    for broker, root in enumerate(roots):
        root.mkdir(parents=True)
        (root / "meta.properties").write_text(META.format(cluster="clusterA", node=broker + 1))
        with LogDirectory.open(root, CONFIG, filesystem=Unsynced(), clock=lambda: NOW) as directory:
            for number, histories_of_brokers in histories.items():
                history = histories_of_brokers[broker]
                if history is not None:
                    _write(directory.create(TopicPartition(f"c{number}", 0)), history, chances[number])
        for number, chance in chances.items():
            files = sorted((root / f"c{number}-0").glob("*"))
            if files and chance.random() < 0.12:
                damage(chance, chance.choice(files))
    return roots


def _histories(chance: random.Random) -> list[list[Written] | None]:
    """Tell who has what: a common beginning, and from somewhere on more of it, less, or another leader's batches."""
    common = _batches(chance, chance.randrange(1, 14), epoch=0, branch="")
    histories: list[list[Written] | None] = []
    for broker in range(BROKERS):
        kept = common[: len(common) - chance.choice([0, 0, 0, chance.randrange(len(common))])]
        if chance.random() < 0.3:
            epoch = (kept[-1].epoch if kept else 0) + 1 + broker
            kept = [*kept, *_batches(chance, chance.randrange(1, 5), epoch=epoch, branch=f"b{broker}")]
        histories.append(None if chance.random() < 0.05 else kept)
    return histories


def _batches(chance: random.Random, count: int, *, epoch: int, branch: str) -> list[Written]:
    batches = []
    for _ in range(count):
        epoch += chance.random() < 0.2
        producer = chance.choice([None, None, 1, 2])
        ends = chance.choice([None, True, False]) if producer else None
        codec = chance.choice(list(Codec))
        batches.append(
            Written(epoch, chance.randrange(1, 5), chance.choice([5, 60, 300]), codec, producer, ends, branch)
        )
    return batches


def _write(log: Log, history: Iterable[Written], chance: random.Random) -> None:
    sequences: dict[int, int] = {}
    for each in history:
        values = (f"{each.branch}{log.log_end_offset}-{number}".encode() for number in range(each.records))
        records = [Record(0, NOW, value, (value * each.size)[: each.size]) for value in values]
        sequence = sequences.get(each.producer, 0) if each.producer else -1
        template = BatchTemplate(
            codec=each.codec,
            producer_id=each.producer or -1,
            producer_epoch=0 if each.producer else -1,
            base_sequence=sequence,
            is_transactional=each.producer is not None,
        )
        log.append(records, leader_epoch=each.epoch, template=template)
        if each.producer is None:
            continue
        sequences[each.producer] = sequence + each.records
        if each.ends is not None:
            log.append_end_transaction(each.producer, 0, commit=each.ends, leader_epoch=each.epoch)
    log.update_high_watermark(chance.choice([log.log_end_offset, log.log_end_offset, 0]))
    if chance.random() < 0.15 and log.high_watermark:
        log.delete_records(chance.randrange(log.high_watermark + 1))
        log.delete_old_segments()
