"""A real broker starts on a log that we wrote, serves it to a real client, and appends; we open what it wrote."""

import shutil
from pathlib import Path

from logstore.batch.record import Record
from logstore.directory.log_directory import LogDirectory
from logstore.files.meta_properties import MetaProperties
from logstore.files.partition_metadata import parse_uuid
from logstore.log_config import LogConfig
from logstore.offline.offline_log_directory import open_offline
from logstore.topic_partition import TopicPartition
from logstore.verify import verify
from tests.oracle.broker import Broker
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease

PARTITION = TopicPartition("ours", 0)
CONFIG = LogConfig(segment_bytes=2_000, index_interval_bytes=300)
NOW = 1_700_000_000_000
OURS, THEIRS = 60, 40


def write_ours(root: Path, topic_id: str) -> None:
    """Write the whole partition ourselves: several segments, two leader epochs."""
    shutil.rmtree(root / str(PARTITION))
    with LogDirectory.open(root, CONFIG, replicated=True) as directory:
        log = directory.create(PARTITION, topic_id=parse_uuid(topic_id))
        for number in range(OURS):
            record = Record(0, NOW + number, b"key", b"%d" % number)
            log.append([record], leader_epoch=number // 40)
        log.update_high_watermark(OURS)
        assert len(log.segments) > 2


def test_a_broker_serves_what_we_wrote_and_we_open_what_it_wrote(tmp_path: Path, release: KafkaRelease) -> None:
    broker = Broker(tmp_path, release)
    with JavaProgram(release, "BrokerClient", broker.address) as client:
        with broker:
            (topic_id,) = client.ask("create ours")
        write_ours(broker.root, topic_id)
        with broker:
            served, last = client.ask(f"consume ours {OURS} 60", f"produce ours {OURS} {THEIRS} lz4")
        assert served.split() == [f"{number}:key={number}" for number in range(OURS)]
        assert last == str(OURS + THEIRS - 1)
    assert MetaProperties.read(broker.root / "meta.properties").node_id == 1
    findings = [finding for finding in verify(open_offline(broker.root)) if finding.severity.needs_attention]
    assert findings == []
    with LogDirectory.open(broker.root, CONFIG, replicated=True) as directory:
        log = directory.log(PARTITION)
        assert directory.broker_epoch > 0
        assert log.report.recovered_segments == 0
        assert (log.log_end_offset, log.high_watermark) == (OURS + THEIRS, OURS + THEIRS)
        values = []
        while len(values) < log.log_end_offset:
            values += [int(record.value or b"") for record in log.read(len(values), 1 << 20).records()]
        assert values == list(range(OURS + THEIRS))
        assert [entry.start_offset for entry in log.epochs.entries] == [0, 40, OURS]
