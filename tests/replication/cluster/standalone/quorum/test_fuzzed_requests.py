"""Random requests to all that a controller answers: nothing crashes or hangs, and what is written can be replayed."""

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from replication.cluster.standalone.new_cluster import begin_cluster
from replication.cluster.standalone.quorum import envelopes
from replication.cluster.standalone.quorum.controller_server import controller_apis
from replication.cluster.standalone.quorum.led_quorum import LedQuorum
from replication.cluster.standalone.static_controller import StaticController
from replication.cluster.standalone.stored_metadata import StoredMetadata
from replication.records.metadata.loading import load_image
from replication.wire.addresses import Address
from replication.wire.client.exchange import Exchange
from replication.wire.encoding.framing import SIZE_BYTES
from replication.wire.encoding.kio_messages import request_class, served_versions
from replication.wire.server.authentication import NoSasl
from replication.wire.server.call import Caller
from replication.wire.server.conversation import Conversation
from replication.wire.server.hang_up import HangUpError
from replication.wire.server.offered_versions import Features, OfferedVersions
from replication.wire.server.served_api import ServedApis
from tests.campaign import Campaign
from tests.replication.wire.instances import instance
from tests.replication.wire.server.finished import finish
from tests.replication.wire.test_fuzz import CHANGES

CAMPAIGN = Campaign("controller: fuzzed requests", full=500_000, share=3_000)
REQUESTS_OF_A_CONNECTION = 20


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[StaticController]:
    with closing(StoredMetadata.open(tmp_path)) as metadata:
        controller = StaticController("fuzzed", metadata)
        begin_cluster(controller)
        yield controller


def request(apis: ServedApis, rng: random.Random) -> bytearray:
    """A request of any API and version with random values; some of those that are passed on stand in envelopes."""
    key = rng.choice(list(apis))
    version = rng.choice([each for each in served_versions(key) or () if each in apis[key].versions])
    asked: Any = instance(request_class(key, version), rng)
    if key == envelopes.API_KEY and rng.randrange(2):
        enclosed = request({each: api for each, api in apis.items() if each != key}, rng)
        asked = type(asked)(
            request_data=bytes(enclosed), request_principal=None, client_host_address=bytes(rng.choice([3, 4, 16]))
        )
    return bytearray(memoryview(Exchange("fuzz").ask(asked)[1])[SIZE_BYTES:])


def changed(apis: ServedApis, rng: random.Random) -> bytes:
    """A request that is changed in some places or none."""
    data = request(apis, rng)
    for _ in range(rng.choice([0, 1, 1, 2])):
        rng.choice(CHANGES)(data, rng)
    return bytes(data)


def test_random_requests_end_in_answers_or_the_end_of_the_connection_and_the_controller_goes_on(
    controller: StaticController, tmp_path: Path
) -> None:
    rng = random.Random(CAMPAIGN.seed)
    apis = controller_apis(controller, LedQuorum(controller, 100, Address("127.0.0.1", 9_093)))
    offered = OfferedVersions(apis, Features)
    answered = 0
    ends: dict[str, int] = {}
    for number in range(CAMPAIGN.count):
        if number % REQUESTS_OF_A_CONNECTION == 0:
            talk = Conversation(apis, offered, NoSasl(Caller("192.0.2.1")))
        try:
            finish(talk.receive(memoryview(changed(apis, rng))))
            answered += 1
        except HangUpError as error:
            ends[error.topic] = ends.get(error.topic, 0) + 1
            talk = Conversation(apis, offered, NoSasl(Caller("192.0.2.1")))
    CAMPAIGN.report(CAMPAIGN.count, f"{answered:,} answered")
    assert "failure" not in ends, ends
    assert answered > CAMPAIGN.count // 10
    assert sum(ends.values()) > 0
    assert controller.failure is None
    assert load_image(tmp_path / "__cluster_metadata-0").image == controller.published.image
