"""Random clusters under the controller, with Kafka's own classes beside it, decision for decision."""

from base64 import urlsafe_b64encode
from collections.abc import Iterator
from uuid import UUID

import pytest

from replication.cluster.controller.controller import Controller, ControllerSettings
from tests.campaign import Campaign
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.controller.simulation import CLUSTER, Simulation
from tests.replication.cluster.controller.twin import KnownDifferenceError, TwinController

CAMPAIGN = Campaign("simulated clusters beside Kafka's controller", full=3_000, share=40)


@pytest.fixture(scope="module")
def kafka(release: KafkaRelease) -> Iterator[JavaProgram]:
    with JavaProgram(release, "org.apache.kafka.controller.ControlOracle") as oracle:
        yield oracle


class TwinSimulation(Simulation):
    """A simulated cluster whose controller asks Kafka's too, and is never replaced."""

    kafka: JavaProgram

    def _new_controller(self) -> Controller:
        self.kafka.ask(f"reset {int(self.level)} {str(self.elr).lower()}")
        twin = TwinController(CLUSTER, ControllerSettings(), random=self.random, new_topic_id=self._id_of_kafka)
        twin.kafka = self.kafka
        return twin

    def _id_of_kafka(self) -> UUID:
        assert isinstance(self.controller, TwinController)
        return self.controller.next_id

    def _replace_controller(self) -> None:
        pass


def test_what_kafka_refuses_since_4_4_is_refused_here_too(kafka: JavaProgram) -> None:
    """Replicas assigned to a broker whose directories are all cordoned, and more than 10,000 additional partitions."""
    cordoned, incarnation = (urlsafe_b64encode(bytes([1, each] * 8)).decode().rstrip("=") for each in (2, 3))
    epoch = 1
    kafka.ask(f"reset {kafka.release.metadata_version} false", f"register 1 {incarnation} {cordoned} -1 -")
    (heard,) = kafka.ask(f"heartbeat 1 {epoch} {epoch} false false")
    assert heard.startswith("NONE ")
    created, heard, *asked = kafka.ask(
        "create a 1 - 1",
        f"heartbeat 1 {epoch} {epoch} false false {cordoned}",
        "create b 1 - 1",
        "enlarge a 10002 1",
    )
    assert [each.split(" ")[0] for each in (created, heard)] == ["NONE", "NONE"]
    errors = [each.split(" ")[0] for each in asked]
    if kafka.release.is_before_4_4:
        assert errors == ["NONE", "INVALID_REPLICA_ASSIGNMENT"], "of 10,001 partitions one is assigned"
    else:
        assert errors == ["INVALID_REPLICA_ASSIGNMENT", "POLICY_VIOLATION"]


def test_the_controller_decides_what_kafka_s_decides(kafka: JavaProgram) -> None:
    TwinSimulation.kafka, TwinSimulation.newest = kafka, kafka.release.metadata_version
    whole = 0
    for seed in range(CAMPAIGN.seed, CAMPAIGN.seed + CAMPAIGN.count):
        try:
            TwinSimulation(seed).run()
            whole += 1
        except KnownDifferenceError:
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed} of the simulation") from error
    assert whole > CAMPAIGN.count * 0.8
    CAMPAIGN.report(CAMPAIGN.count, f"{whole:,} to the end", beside=kafka.release)
