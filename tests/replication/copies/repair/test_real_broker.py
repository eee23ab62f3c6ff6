"""A real broker starts on a copy that was repaired, serves all of it, and goes on writing."""

import random
import shutil
from pathlib import Path

from logstore.batch.record import Record
from logstore.directory.log_directory import LogDirectory
from logstore.files.partition_metadata import parse_uuid
from logstore.log_config import LogConfig
from logstore.offline.offline_log_directory import open_offline
from logstore.topic_partition import TopicPartition
from logstore.verify import verify
from tests.oracle.broker import Broker
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease
from tests.replication.cli.command import epochlog
from tests.replication.copies.repair.random_damage import (
    append_garbage,
    cut_off,
    cut_out,
    damage_epochs,
    damage_index,
    damage_snapshot,
    flip_bits,
    remove_log,
    zero_pages,
)

DAMAGES = {
    "bits": (flip_bits, damage_index),
    "pages": (zero_pages, damage_snapshot),
    "cut": (cut_off, append_garbage),
    "gone": (remove_log,),
    "epochs": (damage_epochs, damage_snapshot),
    "out": (cut_out,),
}
"""By topic."""
NOW = 1_700_000_000_000
HELD, ADDED = 90, 30


def write_partition(root: Path, topic: str, topic_id: str, segment_bytes: int) -> None:
    """Write a partition ourselves: two leader epochs, the first of which ends in the first half."""
    shutil.rmtree(root / f"{topic}-0", ignore_errors=True)
    config = LogConfig(segment_bytes=segment_bytes, index_interval_bytes=300, retention_ms=-1)
    with LogDirectory.open(root, config) as directory:
        log = directory.create(TopicPartition(topic, 0), topic_id=parse_uuid(topic_id))
        for number in range(HELD):
            log.append([Record(0, NOW + number, b"key", b"%d" % number)], leader_epoch=number // 40)
        log.update_high_watermark(HELD)


def test_a_broker_goes_on_where_the_repaired_copy_ends(tmp_path: Path, release: KafkaRelease) -> None:
    rng = random.Random(18)
    broker = Broker(tmp_path, release)
    other = tmp_path / "other"
    with JavaProgram(release, "BrokerClient", broker.address) as client:
        with broker:
            topic_ids = client.ask(*(f"create {topic}" for topic in DAMAGES))
        for topic, topic_id in zip(DAMAGES, topic_ids, strict=True):
            write_partition(broker.root, topic, topic_id, 2_000)
            write_partition(other, topic, topic_id, 3_000)
        original = {topic: shutil.copytree(broker.root / f"{topic}-0", tmp_path / topic) for topic in DAMAGES}
        for topic, damages in DAMAGES.items():
            for damage in damages:
                damage(rng, broker.root / f"{topic}-0")
        outcome = epochlog("repair", broker.root, "--from", other, "--output", tmp_path / "copy", "--json")
        assert outcome.status == 1
        assert not any(each["left"] or each["findings"] for each in outcome.document["partitions"])
        for topic, path in original.items():
            for log in path.glob("*.log"):
                assert (tmp_path / "copy" / f"{topic}-0" / log.name).read_bytes() == log.read_bytes()
        broker.root.rename(tmp_path / "damaged")
        (tmp_path / "copy").rename(broker.root)
        assert not [each for each in verify(open_offline(broker.root)) if each.severity.needs_attention]
        with broker:
            for topic in DAMAGES:
                served, last, all_of_it = client.ask(
                    f"consume {topic} {HELD} 60",
                    f"produce {topic} {HELD} {ADDED} lz4",
                    f"consume {topic} {HELD + ADDED} 60",
                )
                assert served.split() == [f"{number}:key={number}" for number in range(HELD)]
                assert last == str(HELD + ADDED - 1)
                assert len(all_of_it.split()) == HELD + ADDED
    assert not [each for each in verify(open_offline(broker.root)) if each.severity.needs_attention]
