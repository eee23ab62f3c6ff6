"""Elections are foreseen from what clients are told as the controller holds them from all that it knows."""

from collections.abc import Iterable

import pytest

from logstore import TopicPartition
from replication.cluster.controller.cluster_state import ClusterState
from replication.cluster.operations.cluster_view import BrokerView, ClusterView
from replication.cluster.operations.described_state import described_state
from replication.cluster.operations.election_forecast import ElectionForecast, forecast
from replication.cluster.operations.partition_view import PartitionView
from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode
from replication.wire.messages.elect_leaders import ElectionType
from tests.campaign import Campaign
from tests.replication.cluster.controller.simulation import Simulation

CAMPAIGN = Campaign("elections foreseen", full=1_000, share=60)
ORDERS = TopicPartition("orders", 0)
FENCED = frozenset({3})


def told(cluster: ClusterState) -> ClusterView:
    """Return what clients would be told, and of brokers that shut down what only the controller knows."""
    brokers = cluster.image.brokers.values()
    return ClusterView(
        cluster_id="simulated",
        brokers=tuple(
            BrokerView(id=each.id, address=Address("localhost", 9092), is_fenced=not each.is_active) for each in brokers
        ),
        partitions=tuple(
            PartitionView(
                partition=TopicPartition(topic.name, number),
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                replicas=state.replicas,
                isr=state.isr,
                elr=state.elr,
                last_known_elr=state.last_known_elr,
                offline_replicas=tuple(each for each in state.replicas if not cluster.may_lead(state)(each)),
                adding=state.adding_replicas,
                removing=state.removing_replicas,
                min_isr=int(cluster.setting(topic, "min.insync.replicas")),
            )
            for topic, number, state in cluster.image.topics.partitions()
        ),
    )


class ForeseenSimulation(Simulation):
    """Compares before each election what is foreseen from either side."""

    compared = 0

    def _elect(self) -> None:
        cluster = self.controller.cluster
        described = described_state(told(cluster))
        everything = [TopicPartition(topic.name, number) for topic, number, _ in cluster.image.topics.partitions()]
        nowhere = [TopicPartition("nowhere", 0), *(each._replace(partition=99) for each in everything[:1])]
        for election_type in ElectionType:
            for partitions in (None, [*everything, *nowhere]):
                foreseen = forecast(described, election_type, partitions)
                assert in_order(foreseen) == in_order(forecast(cluster, election_type, partitions))
                self.compared += len(foreseen)
        super()._elect()


def in_order(forecasts: Iterable[ElectionForecast]) -> list[ElectionForecast]:
    return sorted(forecasts, key=lambda each: each.partition)


def test_what_clients_are_told_is_enough_to_foresee_elections() -> None:
    compared = 0
    for seed in range(CAMPAIGN.seed, CAMPAIGN.seed + CAMPAIGN.count):
        simulation = ForeseenSimulation(seed)
        try:
            simulation.run()
        except Exception as error:
            raise AssertionError(f"cluster {seed}") from error
        compared += simulation.compared
    assert compared > CAMPAIGN.count
    CAMPAIGN.report(CAMPAIGN.count, f"{compared:,} elections")


def foreseen(election_type: ElectionType, fenced: frozenset[int] = FENCED, **partition: object) -> ElectionForecast:
    """Foresee the election of orders-0 on brokers 1 to 3."""
    state = {"partition": ORDERS, "leader": 2, "replicas": (1, 2, 3), "isr": (1, 2), "elr": ()} | partition
    view = ClusterView(
        cluster_id="told",
        brokers=tuple(BrokerView(id=each, address=Address("h", 1), is_fenced=each in fenced) for each in (1, 2, 3)),
        partitions=(PartitionView(**state),),  # type: ignore[arg-type]  # of the fields' types
    )
    [found] = forecast(described_state(view), election_type, [ORDERS])
    return found


def test_the_preferred_replica_would_lead() -> None:
    found = foreseen(ElectionType.PREFERRED)
    assert (found.error, found.leader, found.would_lead, found.isr) == (ErrorCode.NONE, 2, 1, (1, 2))
    assert not found.is_unclean


def test_a_replica_on_a_failed_disk_would_not() -> None:
    found = foreseen(ElectionType.PREFERRED, offline_replicas=(1,))
    assert (found.error, found.would_lead) == (ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, 2)


@pytest.mark.parametrize(("elr", "unclean"), [((), True), ((1,), False)])
def test_who_is_neither_in_sync_nor_eligible_may_lack_records(elr: tuple[int, ...], *, unclean: bool) -> None:
    found = foreseen(ElectionType.UNCLEAN, leader=-1, isr=() if elr else (3,), elr=elr)
    assert (found.error, found.leader, found.would_lead, found.isr) == (ErrorCode.NONE, None, 1, (1,))
    assert found.is_unclean is unclean


def test_who_led_last_is_elected_where_nobody_else_is_left_and_may_lack_records() -> None:
    found = foreseen(ElectionType.PREFERRED, leader=-1, isr=(), elr=(), last_known_elr=(2,))
    assert (found.error, found.would_lead, found.isr, found.is_unclean) == (ErrorCode.NONE, 2, (2,), True)


def test_without_a_minimum_told_nobody_ceases_to_be_eligible() -> None:
    found = foreseen(ElectionType.PREFERRED, frozenset({1}), isr=(2,), elr=(1,))
    assert (found.error, found.would_lead) == (ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, 2)


def test_nobody_would_lead() -> None:
    found = foreseen(ElectionType.UNCLEAN, frozenset({1, 2, 3}), leader=-1)
    assert (found.error, found.would_lead) == (ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, None)
    assert found.fails
