"""What a running cluster's answer means for a plan: who can lead, and what of the lost is committed."""

import pytest

from epoch import TruncationProtocol
from logstore.topic_partition import TopicPartition
from replication.copies.planning.answered_plan import AnsweredPlan, Electable, committed_lost, electable
from replication.copies.planning.living_partition import LivingPartition
from replication.copies.planning.replica import Replica
from replication.copies.planning.truncation_plan import Relation, TruncationPlan

LIVING = LivingPartition(
    partition=TopicPartition("t", 0),
    leader=2,
    leader_epoch=5,
    replicas=(1, 2, 3, 4),
    isr=(2, 3),
    elr=(4,),
    high_watermark=100,
)


def plan(truncate_to: int, log_end_offset: int, relation: Relation = Relation.FORKED) -> TruncationPlan:
    lost = log_end_offset - truncate_to
    return TruncationPlan("t", 0, TruncationProtocol.KIP_320, (), truncate_to, log_end_offset, relation, lost, lost)


@pytest.mark.parametrize(
    ("broker", "how"),
    [
        (2, Electable.LEADS),
        (3, Electable.IN_SYNC),
        (4, Electable.ELIGIBLE),
        (1, Electable.UNCLEAN),
        (9, Electable.NO_REPLICA),
        (None, Electable.UNKNOWN),
    ],
)
def test_how_a_broker_comes_to_lead_is_what_the_metadata_allows(broker: int | None, how: Electable) -> None:
    assert electable(LIVING, broker) is how


@pytest.mark.parametrize(
    ("of", "leader", "follower", "lost"),
    [
        (plan(60, 120), 1, 2, 40),  # the leader's own log: 60 to 99 are committed
        (plan(60, 80), 1, 2, 20),
        (plan(100, 120), 1, 2, 0),
        (plan(120, 120, Relation.IDENTICAL), 1, 3, 0),
        (plan(60, 120), 2, 1, 0),  # what the leader's log does not have was never committed there
        (plan(60, 120, Relation.AHEAD), 2, 1, None),  # or the leader's copy is only older
        (plan(60, 120), 1, 3, None),
    ],
)
def test_what_is_committed_is_the_leaders_log_up_to_its_high_watermark(
    of: TruncationPlan, leader: int, follower: int, lost: int | None
) -> None:
    assert committed_lost(of, LIVING, leader, follower) == lost


def test_without_a_leader_nothing_is_said_of_what_is_committed() -> None:
    leaderless = LivingPartition(partition=LIVING.partition, leader=None, leader_epoch=6, replicas=(1, 2), isr=())
    assert committed_lost(plan(60, 120), leaderless, 1, 2) is None
    told = " ".join(
        AnsweredPlan.of(plan(60, 120), leaderless, Replica("a", {}, node_id=1), Replica("b", {})).sentences("a")
    )
    assert "nobody leads" in told
    assert "which somebody has to ask for" in told
    assert "do not show" in told


def test_a_plan_that_costs_nothing_needs_no_words() -> None:
    same = AnsweredPlan.of(plan(9, 9, Relation.IDENTICAL), LIVING, Replica("a", {}, node_id=2), Replica("b", {}))
    assert list(same.sentences("a")) == []
    assert same.as_json()["electable"] == "leads"


def test_nobody_was_asked() -> None:
    told = AnsweredPlan.of(plan(60, 120), None, Replica("a", {}), Replica("b", {}))
    assert (told.living, told.electable, told.committed_lost, list(told.sentences("a"))) == (None, None, None, [])
