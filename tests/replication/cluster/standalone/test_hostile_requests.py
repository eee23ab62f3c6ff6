"""Whatever a client sends, an answer takes memory and bytes within bounds, and nothing fails."""

import gc
import logging
import random
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import pytest

from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.cluster.node.broker_node_settings import BrokerNodeSettings
from replication.cluster.standalone.standalone_broker import StandaloneBroker
from replication.wire.error_code import ErrorCode
from replication.wire.messages import elect_leaders
from replication.wire.server.authentication import NoSasl
from replication.wire.server.call import Caller
from replication.wire.server.conversation import Conversation
from replication.wire.server.hang_up import HangUpError
from replication.wire.server.offered_versions import Features, OfferedVersions
from replication.wire.server.served_api import ServedApis
from replication.wire.server.server import Server
from tests.campaign import Campaign
from tests.replication.cluster.standalone.alone import LOOPBACK
from tests.replication.cluster.standalone.hostile import LONG_NAME, Hostile, HostileRequests, frame_of
from tests.replication.cluster.standalone.requests.asked import asked, create, elect, part, topic
from tests.replication.cluster.standalone.requests.small_standalone import SmallStandalone
from tests.replication.wire.server.finished import finish

CAMPAIGN = Campaign("hostile requests", full=10_000_000, share=4_000)
CALLER = Caller("192.0.2.1")
REQUESTS_OF_A_CONNECTION = 20
FLOOD = 500
"""Items in the largest arrays of the campaign."""
PARTITIONS = 50
ANSWER_BYTES, BYTES_FOR_EACH = 32 << 10, 20
"""Of an answer: so many whatever is asked, and so many for each byte of the request."""
PEAK_BYTES, PEAK_OF_EACH = 4 << 20, 1_000
"""Of memory while a request is answered: so much, and so much for each byte of the request."""
KEPT_BYTES = 64 << 20
"""What is left of all of them, with codecs and classes that are made on the way."""


class Served(NamedTuple):
    """What answers."""

    apis: ServedApis
    offered: OfferedVersions

    def connection(self) -> Conversation:
        """A new one."""
        return Conversation(self.apis, self.offered, NoSasl(CALLER))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A broker with a topic and a group, whose administrators are answered by a controller that has no logs.

    A request for ten thousand partitions makes ten thousand directories, which is what it asks for.
    """
    started: dict[str, ServedApis] = {}
    start = Server.start

    def noted(server: Server, apis: ServedApis, features: Callable[[], Features] = Features) -> None:
        started.update(apis=apis)
        start(server, apis, features)

    root = tmp_path_factory.mktemp("hostile")
    controller = SmallStandalone(tmp_path_factory.mktemp("controller"), brokers=3)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Server, "start", noted)
        broker = StandaloneBroker.open([root / "broker"], BrokerNodeSettings(listener=LOOPBACK))
    with broker:
        own = started["apis"]
        served = Served({**own, **controller.apis}, OfferedVersions(own, Features))
        talk = Served(own, served.offered).connection()
        for request in (create(topic("orders", PARTITIONS)), commits("orders", PARTITIONS)):
            talk.receive(memoryview(frame_of(request)))
        yield served
    controller.close()


def commits(group: str, partitions: int) -> Any:
    """OffsetCommit of whoever is no member."""
    made = [
        part(8, 9, "OffsetCommitRequestPartition", partition_index=number, committed_offset=1, committed_metadata="")
        for number in range(partitions)
    ]
    named = part(8, 9, "OffsetCommitRequestTopic", name="orders", partitions=tuple(made))
    return asked(8, 9, group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=(named,))


def test_hostile_requests_of_every_api_take_bounded_bytes_and_memory(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    rng = random.Random(CAMPAIGN.seed)
    requests = HostileRequests(served.apis, rng, flood=FLOOD)
    ends: Counter[str] = Counter()
    slowest, slowest_is = 0.0, ""
    for number in range(CAMPAIGN.count):
        if number % REQUESTS_OF_A_CONNECTION == 0:
            talk = served.connection()
        request = requests.any()
        began = time.thread_time()
        try:
            found = talk.receive(memoryview(request.frame))
        except HangUpError as error:
            ends[error.topic] += 1
            if error.topic == "failure":
                raise
            talk = served.connection()
        else:
            if isinstance(found, list):
                answer_bytes = sum(map(len, found))
                assert answer_bytes <= ANSWER_BYTES + BYTES_FOR_EACH * len(request.frame), request
            finish(found)
        took = time.thread_time() - began
        if took > slowest:
            slowest, slowest_is = took, f"{request.shape} of API {request.api_key}"
    CAMPAIGN.report(
        CAMPAIGN.count,
        f"{sum(ends.values()):,} ended their connection, the slowest took {slowest:.2f} s ({slowest_is})",
    )
    assert not [record for record in caplog.records if record.exc_info and record.levelno >= logging.WARNING]
    assert CAMPAIGN.count // 20 < sum(ends.values()) < CAMPAIGN.count


def test_floods_of_items_take_memory_within_bounds_and_leave_little(served: Served) -> None:
    rng = random.Random(CAMPAIGN.seed)
    requests = HostileRequests(served.apis, rng, flood=FLOOD)
    tracemalloc.start()
    try:
        for number in range(60):
            request = requests.flooded(distinct=number % 2 == 0)
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            try:
                finish(served.connection().receive(memoryview(request.frame)))
            except HangUpError as error:
                if error.topic == "failure":
                    raise
            _, peak = tracemalloc.get_traced_memory()
            assert peak - before <= PEAK_BYTES + PEAK_OF_EACH * len(request.frame), request
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < KEPT_BYTES


def test_a_long_name_is_not_told_for_each_of_the_items_under_it(served: Served) -> None:
    tried = 0
    kinds = HostileRequests(served.apis, random.Random(CAMPAIGN.seed), flood=FLOOD).under_long_names()
    election = frame_of(elect(0, {"x" * LONG_NAME: tuple(range(FLOOD))}))
    for request in (*kinds, Hostile("an election under a long name", elect_leaders.API_KEY, election)):
        with suppress(HangUpError):
            found = served.connection().receive(memoryview(request.frame))
            if isinstance(found, list):
                assert sum(map(len, found)) <= ANSWER_BYTES + BYTES_FOR_EACH * len(request.frame), request.shape
            finish(found)
        tried += 1
    assert tried > 50


REPEATED = 1_000
REPEATING = {
    "Metadata": asked(
        3,
        9,
        topics=(part(3, 9, "MetadataRequestTopic", name="orders"),) * REPEATED,
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
        include_cluster_authorized_operations=False,
    ),
    "DescribeConfigs": asked(
        32,
        4,
        resources=(part(32, 4, "DescribeConfigsResource", resource_type=4, resource_name="1", configuration_keys=None),)
        * REPEATED,
        include_synonyms=True,
        include_documentation=True,
    ),
    "OffsetFetch": asked(
        9,
        8,
        groups=(part(9, 8, "OffsetFetchRequestGroup", group_id="orders", topics=None),) * REPEATED,
        require_stable=False,
    ),
    "DescribeGroups": asked(15, 5, groups=("orders",) * REPEATED, include_authorized_operations=False),
    "DescribeTopicPartitions": asked(
        75,
        0,
        topics=(part(75, 0, "TopicRequest", name="orders"),) * REPEATED,
        response_partition_limit=2**31 - 1,
        cursor=None,
    ),
}


@pytest.mark.parametrize("name", REPEATING)
def test_who_names_the_same_again_and_again_is_told_of_it_once(served: Served, name: str) -> None:
    request = REPEATING[name]
    found = served.connection().receive(memoryview(frame_of(request)))
    assert isinstance(found, list)
    assert sum(map(len, found)) < ANSWER_BYTES


@pytest.mark.parametrize(("count", "is_answered"), [(200_000, True), (200_001, False), (50_000_000, False)])
def test_more_items_than_a_request_may_have_are_refused_before_they_are_read(
    served: Served,
    count: int,
    is_answered: bool,
) -> None:
    named = bytearray(frame_of(asked(15, 5, groups=(), include_authorized_operations=False)))
    body = named[:-3] + _uvarint(count + 1) + b"\1" * count + b"\0\0"
    talk = served.connection()
    if is_answered:
        talk.receive(memoryview(body))
        return
    tracemalloc.start()
    try:
        with pytest.raises(HangUpError, match="more items"):
            talk.receive(memoryview(body))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20


def _uvarint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def test_a_message_longer_than_its_field_is_cut() -> None:
    told = {"topics": [{"name": "a", "error_code": ErrorCode.INVALID_REQUEST, "error_message": "x" * 40_000}]}
    (answered,) = kio_answer(19, 4, told).topics
    assert answered.error_message == "x" * 1_000
