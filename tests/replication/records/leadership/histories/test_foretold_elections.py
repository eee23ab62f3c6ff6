"""Random histories of real clusters, in whose end all is down: whom Kafka elects once it starts again was foretold from
the directories, and so was what the others cut off and which acknowledged records are lost.
"""

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Final

from tests.campaign import Campaign
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.node.joining.seeds import seeds_of
from tests.replication.records.leadership.histories.election_cluster import ElectionCluster
from tests.replication.records.leadership.histories.election_history import ElectionHistory
from tests.replication.records.leadership.histories.foretold import Foretold
from tests.replication.records.leadership.histories.restart import DISTURBED, IN_ORDER, SINGLE_IN_ORDER, Restart
from tests.replication.records.leadership.histories.starts import Starts

CAMPAIGN: Final = Campaign("foretold elections of real clusters", full=300, share=2)
OF_ONE_CLUSTER: Final = 10
"""Histories of one cluster's life, each with topics of its own."""
SINGLE: Final = 0.9
"""Of how many partitions one outcome must be foretold at least, where brokers start one after another."""
MANY: Final = 1_000
"""Among how many partitions that is to be seen: a single history of which nobody can know in what order its brokers
were given up makes up all of a small share."""
REPEAT_BY: Final = "ELECTIONS_SEED={seed} .venv/bin/python -m pytest tests/replication/records/leadership/histories"


def test_kafka_does_what_was_foretold(tmp_path: Path, release: KafkaRelease) -> None:
    """`ELECTIONS_SEED=N` repeats one history, `N:3` three from it on."""
    counted: Counter[str] = Counter()
    seeds = seeds_of(CAMPAIGN, "ELECTIONS_SEED")
    for first in range(0, len(seeds), OF_ONE_CLUSTER):
        live(tmp_path / f"{first}", release, seeds[first : first + OF_ONE_CLUSTER], counted)
    told = ", ".join(f"{count:,} {what}" for what, count in sorted(counted.items()))
    CAMPAIGN.report(len(seeds) - counted[DISTURBED], told, beside=release)
    assert counted[SINGLE_IN_ORDER] >= SINGLE * counted[IN_ORDER] or counted[IN_ORDER] < MANY, told


def live(directory: Path, release: KafkaRelease, seeds: Sequence[int], counted: Counter[str]) -> None:
    """Let a cluster live through histories."""
    kind = Random(seeds[0] // OF_ONE_CLUSTER)
    with ElectionCluster.at_random(directory / "cluster", release, kind) as cluster:
        for seed in seeds:
            history = ElectionHistory(cluster, seed)
            history.happen()
            counted.update(start_again(history, directory / "copies"))
            cluster.delete(history.topics)
    shutil.rmtree(directory)


def start_again(history: ElectionHistory, copies: Path) -> Counter[str]:
    """Foretell what becomes of the cluster, start it, and compare. AssertionError: it was foretold wrongly."""
    history.cluster.copy(copies)
    starts = Starts.at_random(history.cluster.ids, history.random)
    restart = Restart(history.cluster, history, Foretold(copies, starts))
    restart.happen()
    told = [*history.told, f"start {starts}", *restart.disagreements, REPEAT_BY.format(seed=history.seed)]
    assert not restart.disagreements or restart.counted[DISTURBED], "\n".join(told)
    shutil.rmtree(copies)
    return restart.counted
