"""Every order of events in small clusters: which protocol loses or forks what, and which does not.

`replication.cluster.fetcher.decisions.fetch_state_machine` decides for each follower. A normal run visits the smaller
clusters, CAMPAIGN=full all.
"""

import sys
from dataclasses import replace
from random import Random

import pytest

from tests.campaign import Campaign
from tests.replication.cluster.fetcher.model import clusters
from tests.replication.cluster.fetcher.model.checker import check, reachable
from tests.replication.cluster.fetcher.model.cluster import Cluster
from tests.replication.cluster.fetcher.model.model import Model
from tests.replication.cluster.fetcher.model.trace import rendered
from tests.replication.cluster.fetcher.model.variant import Variant
from tests.replication.cluster.fetcher.model.violations import DIVERGENCE, LOSS, SILENT
from tests.replication.cluster.fetcher.model.walk import walk

COUNTER_EXAMPLES = [
    (clusters.HIGH_WATERMARK.bounded(epochs=2, records=1, restarts=1), LOSS),
    (clusters.HIGH_WATERMARK_FORK.bounded(epochs=2, records=2, restarts=1), DIVERGENCE),
    (clusters.KIP_101_FORK.bounded(epochs=3, records=2, restarts=0), DIVERGENCE),
    (clusters.ROUNDS_UNFENCED.bounded(epochs=3, records=2, restarts=0), DIVERGENCE),
    (clusters.OLD_EPOCH_REUSED.bounded(epochs=1, records=2, restarts=1), SILENT),
]

SOUND = [
    # In a normal run.
    clusters.ON_FETCH.bounded(epochs=2, records=2, restarts=0),
    clusters.ROUNDS.bounded(epochs=2, records=2, restarts=0),
    clusters.ON_FETCH_UNCLEAN.bounded(epochs=3, records=2, restarts=0),
    clusters.ROUNDS_UNCLEAN.bounded(epochs=3, records=2, restarts=0),
    clusters.NEW_INCARNATIONS.bounded(epochs=2, records=1, restarts=1),
    # In full.
    clusters.ON_FETCH.bounded(epochs=2, records=2, restarts=1),
    clusters.ROUNDS.bounded(epochs=2, records=2, restarts=1),
    clusters.NEW_INCARNATIONS.bounded(epochs=2, records=2, restarts=1),
    clusters.NEW_INCARNATIONS.bounded(epochs=3, records=2, restarts=1),
    clusters.ON_FETCH_UNCLEAN.bounded(epochs=3, records=4, restarts=1),
    clusters.ROUNDS_UNCLEAN.bounded(epochs=3, records=4, restarts=1),
    clusters.ON_FETCH_UNCLEAN.bounded(epochs=4, records=4, restarts=0),
    clusters.ROUNDS_UNCLEAN.bounded(epochs=4, records=4, restarts=0),
    clusters.ON_FETCH.bounded(epochs=3, records=4, restarts=0),
    clusters.ROUNDS.bounded(epochs=3, records=4, restarts=0),
]


@pytest.mark.parametrize(("variant", "kind"), COUNTER_EXAMPLES, ids=lambda each: getattr(each, "name", each))
def test_less_than_the_current_protocol_has_a_counter_example(variant: Variant, kind: str) -> None:
    verdict = check(variant)
    sys.stdout.write(rendered(verdict))
    assert verdict.violation is not None
    assert verdict.violation.kind == kind


def test_the_current_protocol_neither_loses_nor_forks_anything() -> None:
    campaign = Campaign("follower model: every state", full=15, share=5)
    states = 0
    for variant in SOUND[: campaign.count]:
        verdict = check(variant)
        sys.stdout.write(rendered(verdict))
        assert verdict.violation is None, rendered(verdict)
        states += verdict.states
    campaign.report(campaign.count, f"{states:,} states visited")


def test_random_ways_through_larger_clusters_find_nothing_either() -> None:
    campaign = Campaign("follower model: random ways", full=2_000, share=40)
    random, steps = Random(campaign.seed), 0
    larger = [
        replace(
            variant.bounded(epochs=6, records=8, restarts=5),
            forgets_high_watermarks=False,
            delays_answers=True,
            hears_late=True,
            fetches_late=True,
        )
        for variant in (
            clusters.ON_FETCH,
            clusters.ROUNDS,
            clusters.ON_FETCH_UNCLEAN,
            clusters.ROUNDS_UNCLEAN,
            clusters.NEW_INCARNATIONS,
        )
    ]
    models = [Model(variant) for variant in larger]
    for number in range(campaign.count):
        verdict = walk(models[number % len(models)], random, 200)
        steps += verdict.steps
        assert verdict.violation is None, f"seed {campaign.seed}, way {number}\n{rendered(verdict)}"
    campaign.report(campaign.count, f"{steps:,} steps")


@pytest.mark.parametrize("variant", [clusters.ON_FETCH, clusters.ROUNDS], ids=lambda each: each.name)
def test_to_take_answers_late_leads_nowhere_else(variant: Variant) -> None:
    at_once = variant.bounded(epochs=2, records=1, restarts=0)
    late = replace(at_once, delays_answers=True)
    assert {_without_answers(each).key() for each in reachable(late)} == {each.key() for each in reachable(at_once)}


def _without_answers(cluster: Cluster) -> Cluster:
    return cluster.with_replicas(*((number, each.but(answer=None)) for number, each in enumerate(cluster.replicas)))
