"""Every order of events in small clusters of our leaders, our followers and our controller: nothing committed is lost.

A normal run visits the smaller clusters, CAMPAIGN=full all. Beyond them, random histories, each of a cluster to which
many things happen, and which has everything in the end.
"""

from dataclasses import replace

import pytest

from replication.cluster.broker.partitions.led_partition import LedPartition
from tests.campaign import Campaign, is_full
from tests.replication.cluster_model import scopes
from tests.replication.cluster_model.checker import check
from tests.replication.cluster_model.cluster import Event, Successor, What
from tests.replication.cluster_model.faults import RemembersTooLong
from tests.replication.cluster_model.model import Model
from tests.replication.cluster_model.scope import Scope
from tests.replication.cluster_model.trace import rendered
from tests.replication.cluster_model.violations import ISR, LOSS
from tests.replication.cluster_model.walk import forget, history

STATES = Campaign("led and followed: every state", full=8, share=3)
HISTORIES = Campaign("simulated clusters of leaders and followers", full=100_000, share=400)
REMEMBERED_HISTORIES = 500

MISSED_EPOCH = (
    (What.SHUTS_DOWN, 0),
    (What.STOPS, 0),
    (What.STARTS, 0),
    (What.UNFENCED, 0),
    (What.HEARS, 1),
    (What.HEARS, 2),
    (What.HEARS, 0),
    (What.FETCHES, 0),
    (What.CHANGE, 1),
    (What.ANSWER, 1),
    (What.WRITES, 1),
    (What.FETCHES, 2),
    (What.FETCHES, 2),
    (What.BALANCED, 0),
    (What.HEARS, 0),
    (What.HEARS, 2),
    (What.FETCHES, 2),
    (What.FENCED, 0),
    (What.HEARS, 1),
    (What.FENCED, 1),
)
"""1 leads, 2 has its record; 0 leads, 2 cuts that record; 1 leads again, and has not heard that 0 did."""


CHOSEN = [*scopes.SMALL, *scopes.LARGE] if is_full() else scopes.SMALL


@pytest.mark.parametrize("scope", CHOSEN, ids=[f"{scope.name}-{scope.failures}-{scope.changes}" for scope in CHOSEN])
def test_nothing_committed_is_lost(scope: Scope) -> None:
    verdict = check(scope)
    STATES.report(1, f"{verdict}; {verdict.unclean} unclean elections")
    assert verdict.violation is None, rendered(verdict.trace, verdict.violation)


def test_all_scopes_are_counted() -> None:
    assert len(scopes.SMALL) == STATES.share
    assert len([*scopes.SMALL, *scopes.LARGE]) == STATES.full


def test_without_elr_the_last_in_sync_loses_what_it_had_not_synced() -> None:
    verdict = check(scopes.LOSSY_CLASSIC)
    assert verdict.violation is not None
    assert verdict.violation.kind == LOSS


def test_a_request_that_comes_again_after_its_refusal_is_granted_behind_the_leaders_back() -> None:
    verdict = check(scopes.REPEATED_REQUESTS)
    assert verdict.violation is not None
    assert verdict.violation.kind == ISR


def test_whatever_happens_to_a_cluster_nothing_committed_is_lost_and_in_the_end_all_have_all() -> None:
    steps = unclean = 0
    for number in range(HISTORIES.count):
        seed = f"{HISTORIES.seed}:{number}"
        found = history(seed)
        steps, unclean = steps + len(found.trace), unclean + found.is_unclean
        assert found.violation is None, f"{rendered(found.trace, found.violation)}{repeat(seed)}"
        if not number % REMEMBERED_HISTORIES:
            forget()
    HISTORIES.report(HISTORIES.count, f"{steps:,} steps, {unclean:,} ended in an unclean election")


def test_a_seed_is_one_history() -> None:
    seed = f"{HISTORIES.seed}:again"
    first = history(seed)
    forget()
    assert [each.event for each in history(seed).trace] == [each.event for each in first.trace]
    forget()


def test_a_leader_that_missed_another_counts_on_no_follower_of_before() -> None:
    assert all(each.violation is None for each in story(LedPartition))


def test_one_that_does_commits_what_it_alone_has() -> None:
    last = story(RemembersTooLong)[-1]
    assert last.violation is not None
    assert last.violation.kind == LOSS


def story(led: type[LedPartition]) -> list[Successor]:
    """What happens when these events do, with such leaders."""
    scope = Scope(name="an epoch is missed", replicas=3, min_isr=1, balances=True, failures=9, changes=99)
    model = Model(replace(scope, led=led))
    cluster, told = model.initial(), []
    for what, number in MISSED_EPOCH:
        successor = model.after(cluster, Event(what, number))
        assert successor is not None, f"{number} {what}: nothing happened"
        told.append(successor)
        cluster = successor.cluster
    return told


def repeat(seed: str) -> str:
    """How to repeat a history."""
    return f"repeat with: python -m tests.replication.cluster_model.walk {seed}"
