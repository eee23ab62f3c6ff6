"""Replicas of one random log: the same batches, in segments of different sizes, each with all that a broker keeps."""

import random
from dataclasses import dataclass
from pathlib import Path

from logstore.append.encoding import encode_batch, encode_end_transaction
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.control import ControlType, EndTransactionMarker
from logstore.batch.record import Record
from logstore.directory.log_directory import LogDirectory
from logstore.log_config import LogConfig
from logstore.topic_partition import TopicPartition

PARTITION = TopicPartition("t", 0)


@dataclass(frozen=True)
class Batch:
    """As every replica has it."""

    base_offset: int
    end_offset: int
    leader_epoch: int
    data: bytes


@dataclass
class _Producer:
    producer_id: int
    is_transactional: bool
    sequence: int = 0
    is_open: bool = False


def random_batches(rng: random.Random, count: int) -> list[Batch]:
    """Batches of several leaders, of plain, idempotent and transactional producers, some with large records."""
    producers = [_Producer(number, number % 2 == 0) for number in range(rng.randint(0, 4))]
    batches: list[Batch] = []
    offset, epoch = 0, rng.randint(0, 3)
    for number in range(count):
        epoch += rng.choice([0, 0, 0, 0, 0, 0, 0, 1, 1, 3])
        producer = rng.choice([None, *producers])
        if producer and producer.is_open and rng.random() < 0.4:
            kind = rng.choice([ControlType.COMMIT, ControlType.ABORT])
            marker = EndTransactionMarker(kind, 0, 0)
            sent = bytes(encode_end_transaction(marker, producer.producer_id, 0, 1_000 + number))
            producer.is_open = False
        else:
            size = rng.choice([10, 10, 100, 1_000, 5_000])
            count_of_records = rng.randint(1, 5)
            records = [Record(-1, 1_000 + number, b"k", rng.randbytes(size)) for _ in range(count_of_records)]
            template = BatchTemplate()
            if producer:
                template = BatchTemplate(
                    producer_id=producer.producer_id,
                    producer_epoch=0,
                    base_sequence=producer.sequence,
                    is_transactional=producer.is_transactional,
                )
                producer.sequence += count_of_records
                producer.is_open = producer.is_transactional
            sent = bytes(encode_batch(records, template))
        placed = bytearray(sent)
        placed[0:8] = offset.to_bytes(8, "big")
        placed[12:16] = epoch.to_bytes(4, "big")
        end = offset + int.from_bytes(sent[23:27], "big") + 1
        batches.append(Batch(offset, end, epoch, bytes(placed)))
        offset = end
    return batches


def write_replica(root: Path, batches: list[Batch], segment_bytes: int) -> Path:
    """Write a broker's root with the one partition, which it closes in order; return the partition's directory."""
    root.parent.mkdir(parents=True, exist_ok=True)
    config = LogConfig(segment_bytes=segment_bytes, retention_ms=-1)
    with LogDirectory.open(root, config) as directory:
        log = directory.create(PARTITION)
        for batch in batches:
            log.append_batches(batch.data, leader_epoch=batch.leader_epoch)
        log.update_high_watermark(batches[-1].end_offset)
    return root / str(PARTITION)
