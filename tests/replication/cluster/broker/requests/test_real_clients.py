"""Real clients read from a server that answers by these requests."""

import time
from collections.abc import Iterator
from threading import Timer

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Place

from replication.cluster.broker.requests.cluster.features import features_of
from replication.cluster.broker.requests.reading_apis import reading_apis
from replication.cluster.serving.refused_produce import REFUSED_PRODUCE
from replication.wire.addresses import Address
from replication.wire.messages import produce
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.server import Server
from tests.replication.cluster.broker.requests.small_broker import ORDERS, SmallBroker, broker_record
from tests.replication.cluster.serving.clients import READERS

SECONDS = 30


@pytest.fixture
def bootstrap(broker: SmallBroker) -> Iterator[str]:
    """The address of a server that answers for the small broker."""
    with Server([ListenerSettings(address=Address("127.0.0.1", 0))]) as server:
        address = server.addresses["PLAINTEXT"]
        # librdkafka 2.8 takes two brokers under the same name for one.
        hosts = {1: address.host, 2: "localhost"}
        broker.tell(*(broker_record(each, host=host, PLAINTEXT=address.port) for each, host in hosts.items()))
        # librdkafka fetches nothing from a broker that does not offer to be written to.
        apis = {**reading_apis(broker.partitions, broker.cluster), produce.API_KEY: REFUSED_PRODUCE}
        server.start(apis, lambda: features_of(broker.cluster))
        yield str(address)


@pytest.mark.parametrize("client", READERS)
@pytest.mark.parametrize("committed", [False, True])
def test_clients_read_what_the_log_holds(broker: SmallBroker, bootstrap: str, client: str, committed: bool) -> None:
    for number in range(50):
        broker.append(b"%d" % number, b"and more")
    seen = READERS[client](bootstrap, [ORDERS], committed)[ORDERS]
    assert [(each.offset, each.timestamp, each.value) for each in seen] == [
        (record.offset, record.timestamp, record.value) for record in broker.log.records()
    ]


def test_a_client_that_waits_is_given_a_record_as_soon_as_it_is_there(broker: SmallBroker, bootstrap: str) -> None:
    broker.append(b"early")
    settings = {"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False}
    consumer = Consumer({**settings, "fetch.wait.max.ms": 20_000, "session.timeout.ms": 60_000})
    try:
        consumer.assign([Place(*ORDERS, 1)])
        assert consumer.poll(2) is None
        begun = time.monotonic()
        timer = Timer(0.2, lambda: broker.append(b"late"))
        timer.start()
        message = consumer.poll(SECONDS)
        assert message is not None
        assert message.value() == b"late"
        assert time.monotonic() - begun < 10  # not once the 20 seconds were over
        timer.join()
    finally:
        consumer.close()
