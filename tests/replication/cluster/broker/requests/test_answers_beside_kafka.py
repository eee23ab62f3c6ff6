"""Our answers are those of a real broker on the same files, but for what is named in `known_differences`."""

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from replication.wire.encoding.kio_messages import request_classes
from replication.wire.encoding.kio_messages import write as write_by_kio
from replication.wire.messages.fetch import FetchRequest
from tests.campaign import Campaign
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.broker.requests.known_differences import without_known_differences
from tests.replication.cluster.broker.requests.random_requests import RandomRequests
from tests.replication.cluster.broker.requests.two_brokers import TwoBrokers

CAMPAIGN = Campaign("serve: answers beside a real broker", full=10_000, share=200)
FETCH = 1
OFFSET_FOR_LEADER_EPOCH = 23
SESSION_SHARE = 0.1


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[TwoBrokers]:
    with TwoBrokers(tmp_path_factory.mktemp("beside"), release) as both:
        yield both


def compare(asked: Any, version: int, theirs: Any, ours: Any) -> None:
    their, our = without_known_differences(theirs, ours)
    assert our == their, f"version {version} of {asked}"


def compare_session(brokers: TwoBrokers, requests: RandomRequests, rng: random.Random) -> None:
    """Fetch in a session on both sides, with partitions that come, change and go."""
    version = rng.randrange(7, 19)
    first = requests.fetch(version, session_epoch=0, replica_id=-1)
    theirs, ours = brokers.ask(FETCH, first, version)
    compare(first, version, theirs, ours)
    known = list(first.partitions)
    for epoch in range(1, rng.randrange(2, 6)):
        changed: FetchRequest = requests.fetch(version, session_epoch=epoch, replica_id=-1)
        changed = replace(changed, partitions=dict(list(changed.partitions.items())[: rng.randrange(3)]))
        forgotten = tuple(each for each in known if rng.random() < 0.2 and each not in changed.partitions)
        request = replace(changed, forgotten=forgotten, session_id=theirs.session_id)
        known = [each for each in {**dict.fromkeys(known), **changed.partitions} if each not in forgotten]
        to_ours = replace(request, session_id=ours.session_id)
        their, our = brokers.ask(FETCH, request, version, to_ours)
        compare(request, version, their, our)


def test_random_requests_are_answered_alike(brokers: TwoBrokers, release: KafkaRelease) -> None:
    rng = random.Random(CAMPAIGN.seed)
    ids = {name: topic.id for name, topic in brokers.image.topics.by_name.items() if not name.startswith("__")}
    requests = RandomRequests(rng, ids, brokers.end)
    for _ in range(CAMPAIGN.count):
        if rng.random() < SESSION_SHARE:
            compare_session(brokers, requests, rng)
        else:
            key, request, version = requests.any()
            compare(request, version, *brokers.ask(key, request, version))
    CAMPAIGN.report(CAMPAIGN.count, beside=release)


@pytest.mark.parametrize("version", range(2, 5))
def test_a_partition_is_answered_as_often_as_it_is_asked_about(brokers: TwoBrokers, version: int) -> None:
    rng = random.Random(CAMPAIGN.seed)
    for _ in range(20):
        questions = [("plain", [0, 0]), *(rng.choice(QUESTIONS) for _ in range(3))]
        theirs, ours = brokers.ask_in_bytes(OFFSET_FOR_LEADER_EPOCH, epoch_questions(version, questions, rng), version)
        assert len(theirs.repeated) == sum(len(numbers) for _, numbers in questions)
        assert ours == theirs


QUESTIONS = [("plain", [0, 2]), ("plain", [2, 2]), ("empty", [0]), ("late", [0, 1, 0]), ("nowhere", [0, 0])]


def epoch_questions(version: int, questions: list[tuple[str, list[int]]], rng: random.Random) -> bytes:
    classes = request_classes(OFFSET_FOR_LEADER_EPOCH, version)
    topics = tuple(
        classes.OffsetForLeaderTopic(
            topic=topic,
            partitions=tuple(
                classes.OffsetForLeaderPartition(
                    partition=number, leader_epoch=rng.randrange(4), current_leader_epoch=-1
                )
                for number in numbers
            ),
        )
        for topic, numbers in questions
    )
    replica = {"replica_id": -1} if version >= 3 else {}
    return write_by_kio(classes.OffsetForLeaderEpochRequest(topics=topics, **replica))
