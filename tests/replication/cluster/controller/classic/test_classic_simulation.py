"""Random ZooKeeper-era clusters: the invariants hold whenever all is quiet, and in the end nothing is left to do."""

from tests.campaign import Campaign
from tests.replication.cluster.controller.classic.simulation import ClassicSimulation

CAMPAIGN = Campaign("simulated clusters under the ZooKeeper-era controller", full=10_000, share=100)


def test_whatever_happens_to_a_cluster_it_stays_sound_and_recovers() -> None:
    for seed in range(CAMPAIGN.seed, CAMPAIGN.seed + CAMPAIGN.count):
        try:
            ClassicSimulation(seed).run()
        except Exception as error:
            raise AssertionError(
                f"repeat with: python -m tests.replication.cluster.controller.classic.simulation {seed}"
            ) from error
    CAMPAIGN.report(CAMPAIGN.count)
