"""Rounds of chaos in a cluster of four brokers, Kafka's and ours: what was acknowledged stays."""

import logging
from collections import Counter
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import Final

import pytest

from tests.campaign import Campaign
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.node.joining.administrator import Administrator
from tests.replication.cluster.node.joining.chaos import round as chaos_round
from tests.replication.cluster.node.joining.chaos.life import Life
from tests.replication.cluster.node.joining.chaos.round import ChaosRound
from tests.replication.cluster.node.joining.chaos.schedule import Schedule, draw
from tests.replication.cluster.node.joining.cuts import cuts
from tests.replication.cluster.node.joining.mixed_cluster import MixedCluster
from tests.replication.cluster.node.joining.seeds import seeds_of
from tests.replication.testing.stopped_replicas import check_roots

SESSION_MS, LAG_MS = 6_000, 3_000
STEPS: Final = 8
AT_ONCE: Final = 10
"""Rounds of one cluster's life."""
REPEAT_BY: Final = (
    "CHAOS_SEED={}:{} .venv/bin/python -m pytest tests/replication/cluster/node/joining/chaos/test_chaos.py"
)


def test_nothing_acknowledged_is_lost_whatever_happens_to_the_nodes(
    tmp_path: Path, release: KafkaRelease, caplog: pytest.LogCaptureFixture
) -> None:
    """`CHAOS_SEED=N:COUNT` repeats rounds, in one cluster each ten from N on."""
    caplog.set_level(logging.INFO, logger=chaos_round.__name__)
    campaign = Campaign("chaos in a real cluster", full=300, share=1)
    seeds = seeds_of(campaign, "CHAOS_SEED")
    told: Counter[str] = Counter()
    for first in range(seeds.start, seeds.stop, AT_ONCE):
        directory = tmp_path / str(first)
        rounds = live(directory, release, range(first, min(first + AT_ONCE, seeds.stop)))
        for each in rounds:
            told["records"] += sum(len(writer.acknowledged) for writer in each.writers)
            told["with keys"] += len(each.keyed_writer.acknowledged)
            told["committed in transactions"] += len(each.transactions.committed)
            told["markers given up by coordinators"] += each.markers_given_up
            told["read meanwhile"] += sum(len(reader.seen) for reader in each.readers)
            told["unclean elections"] += len(each.elections)
        cluster = rounds[-1].cluster
        told["rounds with two of ours"] += len(rounds) * (len(cluster.ours) > 1)
        told["with transaction.version 1"] += len(rounds) * (cluster.features["transaction.version"] == 1)
        for node in cluster.ids:
            by = f"truncations by {'ours' if node in cluster.ours else 'theirs'}"
            told[by] += sum(map(len, cuts(cluster.said(node)).values()))
        rmtree(directory)
    campaign.report(len(seeds), ", ".join(f"{count:,} {what}" for what, count in told.items()), beside=release)


def live(directory: Path, release: KafkaRelease, seeds: range) -> list[ChaosRound]:
    """Run rounds on one cluster, and hold the directories of its brokers against each other once they have stopped.

    What fails tells the round, and the command to repeat it by.
    """
    rounds: list[ChaosRound] = []
    happened: Schedule | None = None
    seed = seeds.start
    life = Life.draw(Random(seed))
    try:
        described = MixedCluster.of(
            directory, release, kafkas=life.kafkas, session_ms=SESSION_MS, lag_ms=LAG_MS, ours=life.ours
        )
        described.is_forgetful = life.is_forgetful
        described.features = {"transaction.version": life.transaction_version}
        with described as cluster, JavaProgram(release, "TransactionClient", cluster.bootstrap(), heap="128m") as java:
            Administrator(cluster).make_coordinators()
            for seed in seeds:
                happened = draw(Random(seed), cluster.ids, cluster.ours, STEPS, loses=cluster.is_forgetful)
                rounds.append(ChaosRound(cluster, java, happened, seed))
                rounds[-1].run()
            for node in cluster.ids:
                cluster.stop(node)
        check_roots([cluster.log_dir(node) for node in cluster.ids], {each.compacted.topic for each in rounds})
        assert any(each.transactions.committed for each in rounds), "no transaction was committed"
    except BaseException as error:
        error.add_note(f"repeat it by: {REPEAT_BY.format(seeds.start, seed - seeds.start + 1)}\n{life}\n{happened}")
        raise
    return rounds
