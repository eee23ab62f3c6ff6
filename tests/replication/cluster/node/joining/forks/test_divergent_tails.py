"""Forks on purpose between Kafka's brokers and ours: whoever leads, the others cut off what `plan` foretold."""

from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Final

import pytest

from tests.campaign import Campaign
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.node.joining.administrator import Administrator
from tests.replication.cluster.node.joining.forks.fork import Fork
from tests.replication.cluster.node.joining.mixed_cluster import MixedCluster
from tests.replication.cluster.node.joining.seeds import seeds_of

SESSION_MS, LAG_MS = 6_000, 60_000
THEIRS, OURS = (1, 2), (8, 9)
CASES: Final = [
    *product((THEIRS, OURS), repeat=2),
    *(case for case in product((THEIRS, OURS), repeat=3) if len(set(case)) == 2),
]
"""Whose brokers lead in turn: the last truncates the others; of each there are two."""
REPEAT_BY: Final = (
    "TAILS_SEED={seed} .venv/bin/python -m pytest tests/replication/cluster/node/joining/forks/test_divergent_tails.py"
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[MixedCluster]:
    directory = tmp_path_factory.mktemp("tails")
    with MixedCluster.of(directory, release, kafkas=2, session_ms=SESSION_MS, lag_ms=LAG_MS, ours=OURS) as cluster:
        Administrator(cluster).make_coordinators()
        yield cluster


def test_all_cut_off_what_was_foretold_under_whoever_leads(cluster: MixedCluster, release: KafkaRelease) -> None:
    """`TAILS_SEED=N` repeats one fork."""
    campaign = Campaign("divergent tails in a real cluster", full=100, share=3)
    seeds = seeds_of(campaign, "TAILS_SEED")
    foretold = []
    for seed in seeds:
        random = Random(seed)
        case = CASES[seed % len(CASES)]
        nodes = [node for place, kind in enumerate(case) for node in [kind[case[:place].count(kind)]]]
        fork = Fork(cluster, f"fork-{seed}", nodes, random)
        try:
            fork.make()
            fork.foretell()
            fork.heal()
        except BaseException as error:
            error.add_note(f"repeat it by: {REPEAT_BY.format(seed=seed)}\nbrokers that led in turn: {nodes}")
            raise
        foretold += fork.foretold
    cut = sum(each.is_cut for each in foretold)
    campaign.report(len(seeds), f"{len(foretold)} plans came true, {cut} of them with a truncation", beside=release)
