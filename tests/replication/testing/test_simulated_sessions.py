"""Brokers that are cut off from their controller answer nobody by what they knew, also once they are heard again."""

from random import Random
from unittest.mock import patch

import pytest

from replication.cluster.broker.lifecycle.own_session import OwnSession
from replication.testing import CONTROLLER, NetworkFaults, SimulatedCluster
from tests.campaign import Campaign

TOPIC = "orders"
STEPS = 40


def test_whoever_answers_clients_leads_by_what_the_controller_has_decided() -> None:
    campaign = Campaign("brokers that lose their controller", full=2_000, share=10)
    first = campaign.seed * 1_000_000
    cuts = run_all(range(first, first + campaign.count))
    campaign.report(campaign.count, f"{cuts:,} leaders were replaced")


def test_a_session_that_goes_on_by_its_heartbeat_alone_is_noticed() -> None:
    with (
        patch.object(OwnSession, "renewed_at", property(lambda _: -1, lambda *_: None), create=True),
        pytest.raises(AssertionError, match="answers clients"),
    ):
        run_all(range(20))


def run_all(seeds: range) -> int:
    return sum(map(run, seeds))


def run(seed: int) -> int:
    """Cut brokers off and pause them, at random; return in how many epochs the partition was led."""
    random = Random(seed)
    with SimulatedCluster(3, seed=seed) as cluster:
        cluster.create_topic(TOPIC, replicas=[(1, 2, 3)])
        # Not before: a starting broker asks to stay fenced. If that arrives once it serves, it is fenced by its own
        # word, whatever its session, and hears so by the metadata, as a broker of Kafka's does.
        cluster.heal(faults=NetworkFaults(late=0.1))
        for _ in range(STEPS):
            broker_id = random.choice((1, 2, 3))
            match random.randrange(3):
                case 0:
                    cluster.cut(broker_id, CONTROLLER)
                case 1:
                    cluster.heal()
                case _:
                    cluster.pause(broker_id)
                    cluster.run(random.randrange(2_500), after_each=lambda: ensure_led(cluster))
                    cluster.resume(broker_id)
            cluster.run(random.choice((100, 700, 2_500)), after_each=lambda: ensure_led(cluster))
        return cluster.partition(TOPIC).leader_epoch


def ensure_led(cluster: SimulatedCluster) -> None:
    """Raise AssertionError where a broker would acknowledge, by itself, what the leader does not have."""
    for broker_id, machine in cluster._machines.items():
        broker = machine.broker
        if broker is None or broker.replicas is None or broker._session.is_over(broker.process.now_ms):
            continue
        led = [hosted for hosted in broker.replicas.hosted.values() if hosted.is_leader]
        known = cluster.partition(TOPIC)
        assert not led or known.leader == broker_id, f"broker {broker_id} answers clients, and {known.leader} leads"
