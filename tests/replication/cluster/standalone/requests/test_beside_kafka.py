"""Administrators are answered as by a real cluster: the same codes, messages and settings, but for what is named."""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from difflib import unified_diff
from functools import partial
from pathlib import Path
from pprint import pformat
from typing import Any
from uuid import UUID

import pytest

from replication.cluster.broker.requests.cluster.described_topics import DescribedTopics
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.node.missing_topics import CREATE_TOPICS, create_missing
from replication.records.metadata.settings.topic_settings import TOPIC_SETTINGS
from replication.wire.client.connection import Connection
from replication.wire.error_code import ErrorCode
from replication.wire.messages.metadata import MetadataRequest
from replication.wire.server.call import Call, Caller
from tests.oracle.cluster import KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.standalone.requests.asked import requests
from tests.replication.cluster.standalone.requests.small_standalone import CLUSTER, SmallStandalone

SECONDS = 60

DIFFERENT: Mapping[str, str] = {
    "retention.bytes=-5": "Kafka takes any number, and keeps all where it is negative. Here -1 does.",
    "of brokers '1', unknown": "Kafka keeps settings that it does not know, for plugins. There are none here.",
    "of brokers '', unknown": "as above",
    "elected twice": "Kafka answers for a partition as often as it is named.",
}
"""The answers that differ, by the name of the request. Besides:

- Kafka's answer to an election of all partitions names topics none of whose partitions needed one.
- A resource that AlterConfigs names twice is INVALID_REQUEST; Kafka does not answer.
- An operation that there is none of is INVALID_REQUEST; Kafka's controller resigns over it.
- More than 10,000 partitions that are added at once are POLICY_VIOLATION; Kafka answers UNKNOWN_SERVER_ERROR, and adds
  them.
- A topic that is to be deleted by its name and by its id is not deleted; Kafka deletes it where the id comes first.
- Settings of groups, client metrics and loggers are not kept: their types are unknown.
- Of long values 60 characters are shown.
"""


class Both:
    """A real cluster of one broker, and ours."""

    def __init__(self, directory: Path, release: KafkaRelease) -> None:
        with ExitStack() as stack:
            kafka = stack.enter_context(KafkaCluster(directory / "kafka", release))
            self._connection = stack.enter_context(Connection.open(kafka.bootstrap()))
            self._ours = SmallStandalone(directory / "ours")
            stack.callback(self._ours.close)
            self._open = stack.pop_all()

    def close(self) -> None:
        self._open.close()

    def real(self, request: Any) -> Any:
        return plain(self._connection.ask(request))

    def ours(self, request: Any) -> Any:
        return plain(self._ours.ask(request))

    def real_errors(self, *names: str) -> dict[str, ErrorCode]:
        """What a client is told that lets topics be created."""
        answer = self._connection.ask(MetadataRequest(topics=names, allow_auto_topic_creation=True))
        return {name: each.error for name, each in answer.topics.items()}

    def our_errors(self, *names: str) -> dict[str, ErrorCode]:
        """The same of a broker that knows of no topics yet."""
        late = self._ours.image
        known = KnownCluster(CLUSTER, 1, lambda: late)
        topics = DescribedTopics(known, partial(create_missing, self._ours.apis[CREATE_TOPICS]))
        request = MetadataRequest(topics=names, allow_auto_topic_creation=True)
        answer = topics.answer(request, Call(13, Caller("127.0.0.1")))
        return {name: each.error for name, each in answer.topics.items()}

    def real_id(self, name: str) -> UUID:
        return self._connection.ask(MetadataRequest(topics=(name,))).topics[name].topic_id or UUID(int=0)

    def our_id(self, name: str) -> UUID:
        return self._ours.image.topics.by_name[name].id


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[Both]:
    both = Both(tmp_path_factory.mktemp("administration"), release)
    yield both
    both.close()


def plain(answer: Any) -> Any:
    """An answer in an order of its own, without ids that were made up, and settings of younger releases."""
    return _plain(asdict(answer))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items() if key != "throttle_time"}
    if isinstance(value, tuple | list):
        return sorted((_plain(each) for each in value if not _is_left_out(each)), key=repr)
    if isinstance(value, UUID):
        return "an id" if value.version == 4 else value
    return value


def _is_left_out(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    is_younger = "config_source" in item and item["name"] not in TOPIC_SETTINGS
    return is_younger or item.get("partition_result") == ()


def difference(theirs: Any, ours: Any) -> str:
    """The lines that only one of two answers has."""
    lines = unified_diff(pformat(theirs, width=250).splitlines(), pformat(ours, width=250).splitlines(), "real", "ours")
    return "\n".join(line for line in lines if line[0] in "+-")


def test_a_list_of_requests_is_answered_alike(both: Both) -> None:
    compared, unlike = 0, {}
    for (name, to_real), (_, to_ours) in zip(requests(both.real_id), requests(both.our_id), strict=True):
        theirs, ours = both.real(to_real), both.ours(to_ours)
        compared += 1
        if theirs != ours:
            unlike[name] = difference(theirs, ours)
    unexpected = [f"{name}\n{each}" for name, each in unlike.items() if name not in DIFFERENT]
    assert not unexpected, "\n".join(unexpected)
    assert unlike.keys() == DIFFERENT.keys()
    assert compared > 200


def test_a_topic_that_is_asked_for_is_told_as_unknown_until_the_broker_knows_of_it(both: Both) -> None:
    names = ("wanted", "not wanted")
    assert both.our_errors(*names) == both.real_errors(*names)
    assert both.our_id("wanted")
    deadline = time.monotonic() + SECONDS
    while both.real_errors("wanted")["wanted"] is not ErrorCode.NONE:
        assert time.monotonic() < deadline
        time.sleep(0.1)
