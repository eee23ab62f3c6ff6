"""Random clusters under the controller: the invariants hold after each step, and the log makes the state again."""

from tests.campaign import Campaign
from tests.replication.cluster.controller.simulation import Simulation

CAMPAIGN = Campaign("simulated clusters under the KRaft controller", full=10_000, share=150)


def test_whatever_happens_to_a_cluster_it_stays_sound() -> None:
    for seed in range(CAMPAIGN.seed, CAMPAIGN.seed + CAMPAIGN.count):
        try:
            Simulation(seed).run()
        except Exception as error:
            raise AssertionError(
                f"repeat with: python -m tests.replication.cluster.controller.simulation {seed}"
            ) from error
    CAMPAIGN.report(CAMPAIGN.count)


def test_a_seed_always_makes_the_same_log() -> None:
    first, again = Simulation(CAMPAIGN.seed), Simulation(CAMPAIGN.seed)
    first.run()
    again.run()
    assert first.log == again.log
    assert len(first.log) > len(first.brokers)
