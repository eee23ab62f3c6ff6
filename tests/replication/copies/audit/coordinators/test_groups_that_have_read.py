"""A consumer of a real cluster has read records: they were acknowledged, whatever else is lost that would tell it."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from logstore import MetaProperties
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.offset_checkpoint import HIGH_WATERMARK_CHECKPOINT
from replication.base.metadata_partition import METADATA_PARTITION
from tests.data.make_replicas import Story
from tests.oracle.cluster import KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.replication.cli.command import epochlog
from tests.replication.waiting import SECONDS

SETTINGS = {"offsets.topic.replication.factor": 1}
WRITTEN, READ, LAGGING = 100, 80, 50


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[tuple[Path, Path]]:
    """A broker's directory after its death, and as it was before the last records; without what else would tell."""
    place = tmp_path_factory.mktemp("read")
    with KafkaCluster(place / "cluster", release, settings=SETTINGS) as cluster:
        story = Story(cluster, 1)
        story.create("t", [[1]])
        story.produce("t", LAGGING, tag="both")
        cluster.stop(1)
        older = copied(cluster.log_dir(1), place / "broker-2", node=2)
        cluster.start(1)
        story.produce("t", WRITTEN - LAGGING, tag="one")
        read(cluster)
        cluster.kill(1)
        yield copied(cluster.log_dir(1), place / "broker-1", node=1), older


def copied(root: Path, target: Path, *, node: int) -> Path:
    shutil.copytree(root, target)
    shutil.rmtree(target / str(METADATA_PARTITION))
    (target / HIGH_WATERMARK_CHECKPOINT).unlink(missing_ok=True)
    properties = target / META_PROPERTIES_NAME
    replace(MetaProperties.read(properties), node_id=node).write(properties)
    return target


def read(cluster: KafkaCluster) -> None:
    """Let a group commit that it has read some records, and have another's offset set by hand."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap(), "group.id": "reader", "enable.auto.commit": False})
    consumer.assign([TopicPartition("t", 0, 0)])
    for _ in range(READ):
        message = consumer.poll(SECONDS)
        assert message is not None
        assert message.error() is None
    consumer.commit(message=message, asynchronous=False)
    consumer.close()
    setter = Consumer({"bootstrap.servers": cluster.bootstrap(), "group.id": "set", "enable.auto.commit": False})
    setter.commit(offsets=[TopicPartition("t", 0, WRITTEN + 5)], asynchronous=False)
    setter.close()


@pytest.mark.parametrize("command", ["audit", "advise"])
def test_what_a_group_has_read_was_acknowledged(copies: tuple[Path, Path], command: str) -> None:
    document: Any = epochlog(command, *copies, "--json").document
    [partition] = [each for each in document["partitions"] if each["topic"] == "t"]
    [lagging] = [each for each in partition["candidates"] if each["replica"] == "broker-2"]
    assert (lagging["lost"]["records"], lagging["acknowledged"]["records"], lagging["acknowledged_at_most"]) == (
        WRITTEN - LAGGING,
        READ - LAGGING,
        WRITTEN - LAGGING,
    )


def test_an_offset_beyond_every_copy_is_named_though_nothing_is_cut(copies: tuple[Path, Path]) -> None:
    document: Any = epochlog("audit", *copies, "--json").document
    [told] = document["consumer_offsets"]
    assert (told["group"], told["committed_offset"], told["longest_end"]) == ("set", WRITTEN + 5, WRITTEN)
    [finding] = [each for each in document["findings"] if each["kind"] == "consumer-offset-beyond-truncation"]
    assert "or the offset was set by hand" in finding["message"]
