"""A broker with several log.dirs: a missing disk takes its partitions offline, and nothing takes their place."""

import shutil
from pathlib import Path

import pytest

from logstore import TopicPartition
from replication.cli.serving.serve_broker import _lines
from replication.cluster.standalone.standalone_broker import StandaloneBroker
from replication.records.metadata.records import UNASSIGNED_DIRECTORY
from tests.replication.cluster.standalone.alone import alone
from tests.replication.cluster.standalone.clients import produce, read

TOPICS = [f"topic-{number}" for number in range(6)]
SECONDS = 30


def fill(broker: StandaloneBroker) -> dict[str, Path]:
    """Write to each topic, and return the root in which each lies, once the metadata says so."""
    for topic in TOPICS:
        assert not produce(str(broker.local.address), topic, [topic.encode()])
    broker.local.wait_until(lambda: UNASSIGNED_DIRECTORY not in directories_of(broker), SECONDS)
    hosted = broker.local.replicas.hosted
    return {topic: hosted[TopicPartition(topic, 0)].log.directory.parent for topic in TOPICS}


def directories_of(broker: StandaloneBroker) -> set[object]:
    return {state.directory_of(1) for _, _, state in broker.controller.published.image.topics.partitions()}


def lost(places: dict[str, Path], root: Path) -> set[TopicPartition]:
    return {TopicPartition(topic, 0) for topic, place in places.items() if place == root}


@pytest.mark.parametrize("is_made_anew", [False, True], ids=["not named", "empty in its place"])
def test_what_lies_in_a_directory_that_is_missing_is_offline(tmp_path: Path, is_made_anew: bool) -> None:
    one, other, aside = tmp_path / "one", tmp_path / "other", tmp_path / "aside"
    with alone(one, other) as broker:
        places = fill(broker)
    assert {*places.values()} == {one, other}
    other.rename(aside)
    with alone(*((one, other) if is_made_anew else (one,))) as broker:
        hosted = broker.local.replicas.hosted
        assert hosted.offline == lost(places, other)
        assert hosted.keys() == lost(places, one)
        told = f"{len(hosted)} partitions, leads {len(hosted)}, {len(hosted.offline)} offline."
        assert told in " ".join(_lines(broker, None))
        (kept, *_) = lost(places, one)
        assert [each.value for each in read(str(broker.local.address), kept.topic)] == [kept.topic.encode()]
    assert not any((root / str(each)).exists() for root in (one, other) for each in lost(places, other))
    shutil.rmtree(other, ignore_errors=True)
    aside.rename(other)
    with alone(one, other) as broker:
        assert not broker.local.replicas.hosted.offline
        for topic in TOPICS:
            assert [each.value for each in read(str(broker.local.address), topic)] == [topic.encode()]
