"""Random clusters under the controller, with Kafka's own classes beside it, decision for decision."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from replication.controller.controller import Controller, ControllerSettings
from tests.campaign import Campaign
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease
from tests.replication.controller.simulation import CLUSTER, Simulation
from tests.replication.controller.twin import KnownDifferenceError, TwinController

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


def test_the_controller_decides_what_kafka_s_decides(kafka: JavaProgram) -> None:
    TwinSimulation.kafka = kafka
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
