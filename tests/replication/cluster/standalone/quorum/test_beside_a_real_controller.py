"""A controller's directory goes from Kafka's controller to ours and back, under a broker that goes on all the time."""

import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from replication.cluster.controller.controller import ControllerSettings
from replication.cluster.standalone.quorum.standalone_controller import StandaloneController
from replication.wire.addresses import Address
from replication.wire.server.connections.listener_settings import ListenerSettings
from tests.oracle.cluster import CONTROLLER, KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.standalone.clients import produce, read

SECONDS = 120


def create(cluster: KafkaCluster, topic: str) -> None:
    """Have the broker make a topic; it passes that on to the controller."""
    client = AdminClient({"bootstrap.servers": cluster.bootstrap()})
    client.create_topics([NewTopic(topic, 1, 1)])[topic].result(SECONDS)


def wait_for(holds: Callable[[], bool]) -> None:
    """Return once something holds."""
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def errors(output: Path) -> list[str]:
    """What a node of Kafka's says went wrong, but for that its machine is too busy."""
    lines = output.read_text().splitlines()
    return [line for line in lines if "ERROR" in line and "event queue overloaded" not in line]


def test_a_broker_goes_on_under_one_after_the_other(tmp_path: Path, release: KafkaRelease) -> None:
    with KafkaCluster(tmp_path, release, brokers=1) as cluster:
        create(cluster, "first")
        assert produce(cluster.bootstrap(), "first", [b"under Kafka's"]) == []
        cluster.stop(CONTROLLER)
        listener = ListenerSettings(name="CONTROLLER", address=Address("127.0.0.1", cluster.ports[CONTROLLER]))
        settings = ControllerSettings(broker_session_timeout_ms=5_000)
        with StandaloneController.open(cluster.log_dir(CONTROLLER), listener, settings, node_id=CONTROLLER) as ours:
            image = ours.controller.published.image
            assert not image.brokers[1].fenced
            create(cluster, "second")
            assert produce(cluster.bootstrap(), "second", [b"under ours"]) == []
            wait_for(lambda: 1 in {each.id for each in ours.server.quorum.observers.living()})
            assert ours.controller.published.image.brokers[1].epoch == image.brokers[1].epoch
        cluster.start(CONTROLLER)
        create(cluster, "third")
        assert produce(cluster.bootstrap(), "third", [b"under Kafka's again"]) == []
        for topic, value in (("first", b"under Kafka's"), ("second", b"under ours"), ("third", b"under Kafka's again")):
            assert [each.value for each in read(cluster.bootstrap(), topic)] == [value]
    for node in (1, CONTROLLER):
        assert errors(tmp_path / f"{node}.out") == []
