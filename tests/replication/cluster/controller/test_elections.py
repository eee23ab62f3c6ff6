import pytest

from replication.cluster.controller.controller import ControllerSettings
from replication.cluster.controller.elections import ElectionAnswer, balance_leaders
from replication.wire.error_code import ErrorCode
from replication.wire.messages.elect_leaders import ElectionType
from tests.replication.cluster.controller.small_cluster import SmallCluster, named

PREFERRED, UNCLEAN = ElectionType.PREFERRED, ElectionType.UNCLEAN


def elect(cluster: SmallCluster, kind: ElectionType, *partitions: str) -> list[ElectionAnswer]:
    asked = [named(partition) for partition in partitions] if partitions else None
    return cluster.done(cluster.controller.elect_leaders(kind, asked))


def moved_away() -> SmallCluster:
    """Broker 1 was away: 2 leads a-0, which prefers 1."""
    cluster = SmallCluster()
    cluster.topic("a", (1, 2, 3), (2, 3, 1))
    cluster.fence(1)
    cluster.heartbeat(1)
    return cluster


def test_a_preferred_election_brings_the_leadership_back_once_the_replica_is_in_sync() -> None:
    cluster = moved_away()
    assert elect(cluster, PREFERRED, "a-0")[0].error is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    cluster.set_isr("a", 2, 3, 1)
    assert elect(cluster, PREFERRED, "a-0")[0].error is ErrorCode.NONE
    assert cluster.partition("a").leader == 1
    assert cluster.partition("a").leader_epoch == 2


def test_an_election_that_is_not_needed_is_told_so() -> None:
    cluster = SmallCluster()
    cluster.topic("a", (1, 2))
    message = "Leader election not needed for topic partition."
    for kind in ElectionType:
        assert elect(cluster, kind, "a-0") == [ElectionAnswer(named("a-0"), ErrorCode.ELECTION_NOT_NEEDED, message)]


def test_what_is_unknown_is_named() -> None:
    cluster = SmallCluster()
    cluster.topic("a", (1, 2))
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert elect(cluster, PREFERRED, "b-0", "a-7") == [
        ElectionAnswer(named("b-0"), unknown, "No such topic as b"),
        ElectionAnswer(named("a-7"), unknown, "No such partition as a-7"),
    ]


def test_a_topic_is_named_once_however_many_of_its_partitions_are_unknown() -> None:
    cluster = SmallCluster()
    cluster.topic("a", (1, 2))
    told = elect(cluster, PREFERRED, "b-0", "b-1", "a-0", "a-7", "a-8", "c-0")
    assert [each.message for each in told if each.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] == [
        "No such topic as b",
        "No such partition",
        "No such partition as a-7",
        "No such partition",
        "No such topic as c",
    ]


def test_all_partitions_are_elected_and_those_that_need_none_are_left_out() -> None:
    cluster = moved_away()
    cluster.set_isr("a", 2, 3, 1)
    assert elect(cluster, PREFERRED) == [ElectionAnswer(named("a-0"), ErrorCode.NONE)]


def test_a_preferred_election_gives_a_leaderless_partition_any_leader_in_sync() -> None:
    cluster = SmallCluster(elr=True)
    cluster.topic("a", (1, 2, 3), min_insync_replicas="2")
    for broker in (1, 2, 3):
        cluster.fence(broker)
    assert cluster.partition("a").isr == ()
    assert set(cluster.partition("a").elr) == {2, 3}
    cluster.heartbeat(3)
    assert cluster.partition("a").leader == 3


def test_an_unclean_election_costs_what_is_asked_for() -> None:
    cluster = SmallCluster(2)
    cluster.topic("a", (1, 2))
    cluster.fence(2)
    cluster.fence(1)
    cluster.heartbeat(2)
    assert (cluster.partition("a").leader, cluster.partition("a").isr) == (-1, (1,))
    assert elect(cluster, PREFERRED, "a-0")[0].error is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    assert elect(cluster, UNCLEAN, "a-0")[0].error is ErrorCode.NONE
    state = cluster.partition("a")
    assert (state.leader, state.isr, state.leader_recovery_state) == (2, (2,), 1)
    assert elect(cluster, UNCLEAN, "a-0")[0].error is ErrorCode.ELECTION_NOT_NEEDED


def test_nobody_alive_cannot_be_elected() -> None:
    cluster = SmallCluster(2)
    cluster.topic("a", (1,))
    cluster.fence(1)
    (answer,) = elect(cluster, UNCLEAN, "a-0")
    assert answer.error is ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    assert answer.message == "Eligible topic partition leaders are not available."


def test_the_pass_for_unclean_elections_takes_only_topics_that_allow_them() -> None:
    cluster = SmallCluster(2)
    cluster.topic("careful", (1, 2))
    cluster.topic("careless", (1, 2))
    cluster.fence(2)
    cluster.fence(1)
    cluster.heartbeat(2)
    cluster.topic("later", (2,), unclean_leader_election_enable="true")
    assert cluster.controller.elect_uncleanly().records == []
    cluster.configure("careless", "unclean.leader.election.enable", "TRUE")
    assert cluster.done(cluster.controller.elect_uncleanly()) is False
    assert cluster.partition("careless").leader == 2
    assert cluster.partition("careful").leader == -1


def test_a_pass_that_balances_leaders_ends_at_its_limit_and_says_so() -> None:
    cluster = SmallCluster()
    cluster.topic("a", *[(1, 2, 3)] * 5)
    cluster.fence(1)
    cluster.heartbeat(1)
    assert balance_leaders(cluster.controller.cluster, 3).records == []
    for number in range(5):
        cluster.set_isr("a", *cluster.partition("a", number).isr, 1, number=number)
    more = balance_leaders(cluster.controller.cluster, 3)
    assert (len(more.records), cluster.done(more)) == (3, True)
    rest = balance_leaders(cluster.controller.cluster, 3)
    assert (len(rest.records), cluster.done(rest)) == (2, False)
    assert {cluster.partition("a", number).leader for number in range(5)} == {1}


@pytest.mark.parametrize(
    ("percentage", "are_balanced"), [(None, True), (0, True), (19, True), (20, False), (100, False)]
)
def test_a_broker_that_lacks_few_of_its_leaderships_can_be_left_alone(
    percentage: int | None, are_balanced: bool
) -> None:
    settings = ControllerSettings(leader_imbalance_per_broker_percentage=percentage)
    cluster = SmallCluster(settings=settings)
    cluster.topic("a", (1, 2, 3), *[(2, 1, 3)] * 7)
    cluster.fence(1)
    cluster.heartbeat(1)
    cluster.topic("b", *[(1, 2, 3)] * 4)
    cluster.set_isr("a", 2, 3, 1)
    records = cluster.controller.balance_leaders().records
    assert bool(records) == are_balanced
