"""Leaders are elected and replicas move as administrators ask."""

from typing import Any

import pytest

from tests.replication.cluster.standalone.requests.asked import ABSENT, create, elect, reassign, reassigning, topic
from tests.replication.cluster.standalone.requests.small_standalone import SmallStandalone

PREFERRED, UNCLEAN = range(2)


@pytest.fixture(autouse=True)
def _made(cluster: SmallStandalone) -> None:
    cluster.ask(create(topic("a", -1, -1, assignments={0: (1, 2), 1: (2, 1)})))


def elected(answer: Any) -> dict[tuple[str, int], tuple[str, str | None]]:
    return {
        (each.topic, one.partition_id): (one.error_code.name, one.error_message)
        for each in answer.replica_election_results
        for one in each.partition_result
    }


def moved(answer: Any) -> dict[tuple[str, int], tuple[str, str | None]]:
    return {
        (each.name, one.partition_index): (one.error_code.name, one.error_message)
        for each in answer.responses
        for one in each.partitions
    }


def leaders(cluster: SmallStandalone) -> list[int]:
    return [each.leader for each in cluster.image.topics.by_name["a"].partitions.values()]


def lose_the_first_leader(cluster: SmallStandalone) -> None:
    """Let broker 1 go and come back, in sync but no leader."""
    cluster.heartbeat(1, want_fence=True)
    cluster.heartbeat(1)
    cluster.rejoin("a", 0, 1)


@pytest.mark.parametrize("version", range(3))
def test_the_preferred_replica_leads_again(cluster: SmallStandalone, version: int) -> None:
    lose_the_first_leader(cluster)
    assert leaders(cluster) == [2, 2]
    told = elected(cluster.ask(elect(PREFERRED, {"a": (0, 1), "b": (0,)}, version)))
    assert told == {
        ("a", 0): ("none", None),
        ("a", 1): ("election_not_needed", "Leader election not needed for topic partition."),
        ("b", 0): ("unknown_topic_or_partition", "No such topic as b"),
    }
    cluster.reopen()
    assert leaders(cluster) == [1, 2]


def test_of_all_partitions_those_are_told_that_need_an_election(cluster: SmallStandalone) -> None:
    lose_the_first_leader(cluster)
    assert elected(cluster.ask(elect(PREFERRED, None))) == {("a", 0): ("none", None)}


def test_an_election_fails_where_nobody_can_lead(cluster: SmallStandalone) -> None:
    cluster.heartbeat(1, want_fence=True)
    told = elected(cluster.ask(elect(PREFERRED, {"a": (0,)})))
    assert told == {("a", 0): ("preferred_leader_not_available", "The preferred leader was not available.")}
    cluster.heartbeat(2, want_fence=True)
    told = elected(cluster.ask(elect(UNCLEAN, {"a": (0,)})))
    message = "Eligible topic partition leaders are not available."
    assert told == {("a", 0): ("eligible_leaders_not_available", message)}


def test_there_are_two_kinds_of_elections(cluster: SmallStandalone) -> None:
    answer = cluster.ask(elect(7, {"a": (0,)}))
    assert answer.error_code.name == "invalid_request"
    assert elected(answer) == {("a", 0): ("invalid_request", "Unknown election type 7")}


@pytest.mark.parametrize("version", range(2))
def test_replicas_move_are_listed_and_come_back(cluster: SmallStandalone, version: int) -> None:
    assert moved(cluster.ask(reassign({("a", 0): (3, 2)}, version=version))) == {("a", 0): ("none", None)}
    cluster.reopen()
    for asked in (None, {"a": (0, 1), "b": (0,)}):
        (told,) = cluster.ask(reassigning(asked)).topics
        (one,) = told.partitions
        assert (told.name, one.partition_index) == ("a", 0)
        assert (one.replicas, one.adding_replicas, one.removing_replicas) == ((3, 2, 1), (3,), (1,))
    assert cluster.ask(reassigning({"a": (1,)})).topics == ()
    assert moved(cluster.ask(reassign({("a", 0): None}, version=version))) == {("a", 0): ("none", None)}
    assert cluster.ask(reassigning(None)).topics == ()
    assert sorted(cluster.image.topics.by_name["a"].partitions[0].replicas) == [1, 2]


@pytest.mark.parametrize(
    ("partition", "replicas", "code", "message"),
    [
        (("a", 0), (), "invalid_replica_assignment", "empty replica list"),
        (("a", 0), (ABSENT,), "invalid_replica_assignment", f"broker {ABSENT}"),
        (("a", 0), (1, 1), "invalid_replica_assignment", "more than once"),
        (("a", 0), None, "no_reassignment_in_progress", ""),
        (("a", 7), (1,), "unknown_topic_or_partition", "Unable to find partition a:7."),
        (("b", 0), (1,), "unknown_topic_or_partition", "Unable to find a topic named b."),
    ],
)
def test_what_cannot_move_stays(
    cluster: SmallStandalone, partition: tuple[str, int], replicas: tuple[int, ...] | None, code: str, message: str
) -> None:
    told = moved(cluster.ask(reassign({partition: replicas, ("a", 1): (2, 1)})))
    assert told.pop(("a", 1)) == ("none", None)
    error, reason = told[partition]
    assert (error, message in (reason or "")) == (code, True), reason
    assert cluster.ask(reassigning(None)).topics == ()


def test_the_number_of_replicas_stays_where_that_is_asked_for(cluster: SmallStandalone) -> None:
    answer = cluster.ask(reassign({("a", 0): (1, 2, 3)}, another_factor=False))
    assert moved(answer) == {("a", 0): ("invalid_replication_factor", "The replication factor is changed from 2 to 3")}
    assert not answer.allow_replication_factor_change
    assert moved(cluster.ask(reassign({("a", 0): (1, 2, 3)}))) == {("a", 0): ("none", None)}
