"""Random requests to all that answers for `epochlog serve --read-only`: nothing crashes, hangs or is stored."""

import gc
import random
import tracemalloc
from collections.abc import Iterator

import pytest

from replication.cluster.broker.groups.coordinator import GroupCoordinator
from replication.cluster.broker.groups.group_settings import GroupSettings
from replication.cluster.broker.groups.requests.group_apis import group_apis
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.broker.requests.reading_apis import reading_apis
from replication.cluster.serving.frozen_cluster import FrozenCluster
from replication.cluster.serving.refused_produce import REFUSED_PRODUCE
from replication.wire.addresses import Address
from replication.wire.client.exchange import Exchange
from replication.wire.encoding.framing import SIZE_BYTES
from replication.wire.encoding.kio_messages import request_class, served_versions
from replication.wire.messages import produce
from replication.wire.messages.topic_ids import Endpoint
from replication.wire.server.authentication import NoSasl
from replication.wire.server.call import Caller
from replication.wire.server.conversation import Conversation
from replication.wire.server.hang_up import HangUpError
from replication.wire.server.offered_versions import Features, OfferedVersions
from replication.wire.server.served_api import ServedApis
from tests.campaign import Campaign
from tests.replication.cli.served import everything
from tests.replication.cluster.serving.served_set import brokers
from tests.replication.wire.instances import instance
from tests.replication.wire.server.finished import finish
from tests.replication.wire.test_fuzz import CHANGES

CAMPAIGN = Campaign("serve: fuzzed requests", full=2_000_000, share=6_000)
LABEL = "diverged"
GROUPS_BYTES, KEPT_BYTES = 1 << 20, 24 << 20
"""What groups may take, and with them all that is learned on the way, such as codecs."""
ADDRESS = Address("127.0.0.1", 9_092)
REQUESTS_OF_A_CONNECTION = 20


@pytest.fixture
def cluster() -> Iterator[FrozenCluster]:
    with FrozenCluster.open(brokers(LABEL)) as cluster:
        yield cluster


def all_apis(cluster: FrozenCluster) -> ServedApis:
    """What the first broker answers."""
    first = cluster.brokers[0].node_id
    image = cluster.image({each.node_id: {"PLAINTEXT": ADDRESS} for each in cluster.brokers})
    known = KnownCluster("fuzzed", first, lambda: image)
    coordinator = GroupCoordinator(GroupSettings(initial_rebalance_delay=0.0, max_bytes=GROUPS_BYTES))
    groups = group_apis(coordinator, image=lambda: image, endpoint=lambda _group, _call: Endpoint(first, *ADDRESS))
    return {**reading_apis(cluster.hosted[first], known), **groups, produce.API_KEY: REFUSED_PRODUCE}


def changed(apis: ServedApis, rng: random.Random) -> bytes:
    """A request of any API and version with random values, changed in some places or none."""
    key = rng.choice(list(apis))
    version = rng.choice([each for each in served_versions(key) or () if each in apis[key].versions])
    _, frame = Exchange("fuzz").ask(instance(request_class(key, version), rng))
    request = bytearray(memoryview(frame)[SIZE_BYTES:])
    for _ in range(rng.choice([0, 1, 1, 2])):
        rng.choice(CHANGES)(request, rng)
    return bytes(request)


def test_random_requests_of_every_api_end_in_answers_or_the_end_of_the_connection(cluster: FrozenCluster) -> None:
    rng = random.Random(CAMPAIGN.seed)
    before = [everything(path) for path in brokers(LABEL)]
    apis = all_apis(cluster)
    offered = OfferedVersions(apis, Features)
    answered = 0
    ends: dict[str, int] = {}
    tracemalloc.start()
    try:
        for number in range(CAMPAIGN.count):
            if number % REQUESTS_OF_A_CONNECTION == 0:
                talk = Conversation(apis, offered, NoSasl(Caller("192.0.2.1")))
            try:
                finish(talk.receive(memoryview(changed(apis, rng))))
                answered += 1
            except HangUpError as error:
                ends[error.topic] = ends.get(error.topic, 0) + 1
                talk = Conversation(apis, offered, NoSasl(Caller("192.0.2.1")))
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    CAMPAIGN.report(CAMPAIGN.count, f"{answered:,} answered")
    assert "failure" not in ends, ends
    assert answered > CAMPAIGN.count // 10
    assert sum(ends.values()) > 0
    assert kept < KEPT_BYTES
    assert [everything(path) for path in brokers(LABEL)] == before
