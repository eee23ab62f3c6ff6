"""Whom a controller elects once all brokers of a cluster start again, foreseen from the metadata."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, permutations, product
from unittest.mock import patch
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logstore.files.clean_shutdown import CleanShutdown
from logstore.topic_partition import TopicPartition
from replication.cluster.controller.brokers import broker_changes
from replication.cluster.controller.cluster_state import ClusterState
from replication.cluster.operations.election_forecast import forecast
from replication.copies.audit.runbook.contest import Contest
from replication.records.leadership import foresight
from replication.records.leadership.fencing_order import fencing_turns
from replication.records.leadership.foreseen_election import ForeseenElections, StartOrder
from replication.records.leadership.foresight import Foresight, StartingBroker
from replication.records.leadership.reason import Reason
from replication.records.metadata.metadata_version import LATEST_METADATA_VERSION as LATEST
from replication.records.metadata.records import MetadataRecord, RegisterBrokerRecord
from replication.wire.messages.elect_leaders import ElectionType
from tests.replication.records.leadership.clusters import TOPIC, Cluster, directory, partition

PAY_0 = TopicPartition(TOPIC, 0)


def foreseen(cluster: Cluster, starting: Iterable[int], *, clean: Iterable[int] = ()) -> ForeseenElections:
    clean = {*clean}
    brokers = [StartingBroker(each, 100 + each if each in clean else -1, (directory(each),)) for each in starting]
    found = Foresight(cluster.image(), brokers).of(PAY_0)
    assert found is not None
    return found


def order_for(orders: Iterable[StartOrder], leader: int) -> StartOrder | None:
    """The first order that certainly makes a broker the leader."""
    return next((each for each in orders if {one.leader for one in each.elections} == {leader}), None)


def leaders(found: ForeseenElections) -> list[tuple[int | None, Reason]]:
    return [(each.leader, each.reason) for each in found.together]


class TestWithoutEligibleReplicas:
    def test_the_last_in_sync_leads_whoever_starts_first(self) -> None:
        found = foreseen(Cluster(partition([1, 2, 3], isr=[3], epoch=7)), [1, 2, 3])
        assert leaders(found) == [(3, Reason.IN_SYNC)]
        assert found.foretold is not None
        assert (found.foretold.epoch, found.foretold.isr, found.foretold.is_unclean) == (8, (3,), False)
        assert {order.started[-1] for order in found.orders} == {3}

    def test_nobody_leads_while_the_last_in_sync_is_not_there(self) -> None:
        found = foreseen(Cluster(partition([1, 2, 3], isr=[3])), [1, 2])
        assert leaders(found) == [(None, Reason.NOBODY)]
        assert found.orders == ()
        assert found.absent == (3,)

    def test_where_unclean_elections_are_allowed_who_is_ready_first_leads(self) -> None:
        cluster = Cluster(partition([1, 2], isr=[2]), settings={"unclean.leader.election.enable": "true"})
        found = foreseen(cluster, [1, 2])
        assert leaders(found) == [(1, Reason.UNCLEAN), (2, Reason.IN_SYNC)]
        assert found.foretold is None
        assert found.unclean_allowed
        first = {order.started: order.elections[0].leader for order in found.orders}
        assert first == {(1,): 1, (2,): 2}

    def test_a_topic_may_forbid_what_the_cluster_allows(self) -> None:
        allowed = {"unclean.leader.election.enable": "true"}
        state = partition([1, 2], isr=[2])
        assert leaders(foreseen(Cluster(state, cluster_settings=allowed), [1])) == [(1, Reason.UNCLEAN)]
        forbidden = Cluster(state, cluster_settings=allowed, settings={"unclean.leader.election.enable": "false"})
        assert leaders(foreseen(forbidden, [1])) == [(None, Reason.NOBODY)]

    def test_the_controllers_own_file_of_properties_may_allow_it(self) -> None:
        image = Cluster(partition([1, 2], isr=[2])).image()
        own = {"unclean.leader.election.enable": "true"}
        found = Foresight(image, [StartingBroker(1)], own_settings=own).of(PAY_0)
        assert found is not None
        assert leaders(found) == [(1, Reason.UNCLEAN)]

    def test_who_starts_beside_the_controller_may_register_before_it_is_fenced_or_after(self) -> None:
        found = foreseen(Cluster(partition([1, 2, 3], isr=[1, 2, 3], leader=1), alive=[1, 2, 3]), [1, 2, 3])
        assert leaders(found) == [(each, Reason.IN_SYNC) for each in (1, 2, 3)]

    def test_those_of_one_turn_are_fenced_in_any_order(self) -> None:
        cluster = Cluster(partition([1, 2], isr=[1, 2], leader=1), alive=[1, 2])
        assert fencing_turns(cluster.image().brokers.values(), LATEST) == {1: 4, 2: 4}
        alone = next(order for order in foreseen(cluster, [1, 2]).orders if order.started == (1,))
        assert [each.leader for each in alone.elections] == [1, None]

    def test_the_last_that_is_fenced_stays_in_sync(self) -> None:
        image = Cluster(partition([1, 2], isr=[1, 2], leader=1), alive=[1, 2]).image()
        image.brokers[1] = replace(image.brokers[1], epoch=110)
        assert fencing_turns(image.brokers.values(), LATEST) == {1: 13, 2: 4}
        found = Foresight(image, [StartingBroker(1), StartingBroker(2)]).of(PAY_0)
        assert found is not None
        first = {order.started: [each.leader for each in order.elections] for order in found.orders}
        assert first == {(1,): [1], (2, 1): [1]}

    def test_a_broker_with_a_new_disk_may_lead_with_an_empty_log(self) -> None:
        """It depends on whether it serves first, or has said first where the log lies."""
        image = Cluster(partition([1, 2], isr=[2])).image()
        found = Foresight(image, [StartingBroker(2, directories=(UUID(int=77_777),))]).of(PAY_0)
        assert found is not None
        assert leaders(found) == [(2, Reason.IN_SYNC), (None, Reason.NOBODY)]


class TestWithEligibleReplicas:
    def test_who_is_eligible_leads(self) -> None:
        found = foreseen(Cluster(partition([1, 2, 3], elr=[2, 3], last_known=[2]), elr=True), [1, 3], clean=[3])
        assert leaders(found) == [(3, Reason.ELIGIBLE)]
        assert found.absent == (2,)

    def test_of_several_the_first_that_is_ready_leads(self) -> None:
        found = foreseen(Cluster(partition([1, 2, 3], elr=[2, 3]), elr=True), [1, 2, 3], clean=[2, 3])
        assert leaders(found) == [(2, Reason.ELIGIBLE), (3, Reason.ELIGIBLE)]
        order = order_for(found.orders, 3)
        assert order is not None
        assert order.started == (3,)

    def test_who_has_crashed_is_no_longer_eligible(self) -> None:
        found = foreseen(Cluster(partition([1, 2, 3], elr=[2, 3]), elr=True), [1, 2, 3], clean=[3])
        assert (3, Reason.ELIGIBLE) in leaders(found)
        assert 2 not in {each.leader for each in found.together}

    def test_the_last_known_leader_leads_after_a_crash_although_nobody_allows_unclean_elections(self) -> None:
        found = foreseen(Cluster(partition([1, 2], elr=[2], last_known=[2], epoch=3), elr=True), [1, 2])
        assert leaders(found) == [(2, Reason.LAST_KNOWN_LEADER)]
        assert found.foretold is not None
        assert (found.foretold.epoch, found.foretold.is_unclean) == (4, True)
        assert {order.started for order in found.orders} == {(2,), (1, 2)}

    def test_an_election_that_is_asked_for_lets_another_lead_that_runs_alone(self) -> None:
        found = foreseen(Cluster(partition([1, 2], elr=[2], last_known=[2]), elr=True), [1, 2])
        assert order_for(found.orders, 1) is None
        order = order_for(found.forced, 1)
        assert order is not None
        assert order.started == (1,)
        assert order.elections[0].reason is Reason.UNCLEAN

    def test_of_several_that_run_the_first_of_the_assignment_wins_an_election_that_is_asked_for(self) -> None:
        found = foreseen(Cluster(partition([3, 1, 2, 4], elr=[4]), elr=True), [1, 2, 3], clean=[4])
        forced = {frozenset(order.started): order.elections[0].leader for order in found.forced}
        assert forced == {
            frozenset({1}): 1,
            frozenset({2}): 2,
            frozenset({3}): 3,
            frozenset({1, 2}): 1,
            frozenset({1, 3}): 3,
            frozenset({2, 3}): 3,
            frozenset({1, 2, 3}): 3,
        }

    def test_a_broker_of_which_a_disk_is_missing_has_not_stopped_cleanly(self) -> None:
        cluster = Cluster(partition([1, 2], elr=[1, 2]), elr=True)
        whole = StartingBroker(1, 101, (directory(1),))
        assert Foresight(cluster.image(), [whole]).of(PAY_0).together[0].leader == 1  # type: ignore[union-attr]
        lacking = whole._replace(directories=(UUID(int=5),))
        assert Foresight(cluster.image(), [lacking]).of(PAY_0).together[0].leader is None  # type: ignore[union-attr]


class TestABrokersFiles:
    def test_all_directories_tell_in_which_epoch_it_stopped(self) -> None:
        stop = CleanShutdown(17)
        assert StartingBroker.of(1, [(None, stop), (None, stop)]).clean_epoch == 17

    @pytest.mark.parametrize("other", [None, CleanShutdown(18), CleanShutdown()])
    def test_where_they_do_not_agree_it_has_crashed(self, other: CleanShutdown | None) -> None:
        assert StartingBroker.of(1, [(None, CleanShutdown(17)), (None, other)]).clean_epoch == -1

    def test_their_ids_are_known(self) -> None:
        assert StartingBroker.of(1, [("AAAAAAAAAAAAAAAAAAAnEQ", None)]).directories == (directory(1),)


def test_a_partition_that_the_metadata_does_not_know_is_not_foreseen() -> None:
    assert Foresight(Cluster(partition([1], isr=[1])).image(), []).of(TopicPartition("other", 0)) is None


# What is foreseen is what the controller does, step by step.


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    replicas = draw(st.permutations([1, 2, 3]).map(lambda ids: ids[: draw(st.integers(1, 3))]))
    elr = draw(st.booleans())
    in_sync = draw(st.lists(st.sampled_from(replicas), unique=True, min_size=0 if elr else 1))
    rest = [each for each in replicas if each not in in_sync]
    eligible = draw(st.lists(st.sampled_from(rest), unique=True)) if elr and rest else []
    alive = draw(st.lists(st.sampled_from(replicas), unique=True))
    may_lead = [each for each in in_sync if each in alive]
    leader = draw(st.sampled_from(may_lead)) if may_lead else -1
    known = draw(st.lists(st.sampled_from(replicas), max_size=1)) if elr and leader == -1 else []
    settings = {"min.insync.replicas": str(draw(st.integers(1, 3)))}
    if draw(st.booleans()):
        settings["unclean.leader.election.enable"] = "true"
    return Cluster(partition(replicas, in_sync, leader, sorted(eligible), known), elr, alive, settings)


@given(cluster=clusters(), clean=st.sets(st.integers(1, 3)), starting=st.sets(st.integers(1, 3)), data=st.data())
def test_what_a_controller_does_is_among_what_is_foreseen(
    cluster: Cluster, clean: set[int], starting: set[int], data: st.DataObject
) -> None:
    found = foreseen(cluster, starting, clean=clean)
    state = cluster.state()
    steps = _steps(cluster, starting)
    while steps:
        broker = data.draw(st.sampled_from(sorted(steps)))
        _take(state, steps[broker].pop(0), broker, clean=broker in clean)
        if not steps[broker]:
            del steps[broker]
        if (leader := _leader(state, steps, starting)) is not None:
            break
    else:
        leader = None
    assert leader in {each.leader for each in found.together}
    if leader is not None:
        after = state.image.topics.by_name[TOPIC].partitions[0]
        told = [each for each in found.together if each.leader == leader]
        assert after.leader_epoch in {epoch for each in told for epoch in each.epochs}


@settings(max_examples=20)
@given(cluster=clusters(), clean=st.sets(st.integers(1, 3)))
def test_all_that_is_foreseen_a_controller_does_in_some_order(cluster: Cluster, clean: set[int]) -> None:
    found = foreseen(cluster, [1, 2, 3], clean=clean)
    done = {*_all_ends(cluster, clean)}
    assert {each.leader for each in found.together} == done


@given(cluster=clusters(), clean=st.sets(st.integers(1, 3)))
def test_an_order_of_starts_ends_as_foreseen(cluster: Cluster, clean: set[int]) -> None:
    found = foreseen(cluster, cluster.partition.replicas, clean=clean)
    told = {order.started: {each.leader for each in order.elections} for order in found.orders}
    for order in permutations(cluster.partition.replicas):
        state = cluster.state()
        for broker in sorted({*cluster.alive}.intersection(order)):
            _take(state, "fence", broker, clean=False)
        for number, broker in enumerate(order, 1):
            for step in ("register", "unfence"):
                _take(state, step, broker, clean=broker in clean)
            if (leader := state.image.topics.by_name[TOPIC].partitions[0].leader) != -1:
                assert leader in told[order[:number]]
                break


@given(cluster=clusters(), clean=st.sets(st.integers(1, 3)))
def test_orders_that_are_listed_once_for_all_that_leave_the_same_tell_as_much_as_all(
    cluster: Cluster, clean: set[int]
) -> None:
    every = foreseen(cluster, cluster.partition.replicas, clean=clean)
    with patch.object(foresight, "_MOST_ORDERED", 0):
        once = foreseen(cluster, cluster.partition.replicas, clean=clean)
    contests = [Contest("t", 0, {}, is_told=True, orders=_by_start(each)) for each in (every, once)]
    for count in range(1, 4):
        for order in permutations(map(str, cluster.partition.replicas), count):
            if not any(contests[0].after(order[:number]) for number in range(1, count)):
                assert contests[1].after(order) == contests[0].after(order)


def test_of_many_replicas_there_are_no_more_orders_than_sets_of_them() -> None:
    replicas = [*range(1, 9)]
    found = foreseen(Cluster(partition(replicas, isr=[8])), replicas)
    assert {order.started[-1] for order in found.orders} == {8}
    assert len(found.orders) == 2**7
    assert order_for(found.orders, 8) == found.orders[0]
    assert len(found.forced) == 2**8 - 1


def all_down() -> Iterator[tuple[Cluster, tuple[int, ...]]]:
    """Give each state in which three brokers can be down, and who of them has stopped cleanly."""
    replicas = (1, 2, 3)
    states = [(partition(replicas, isr=[last]), False) for last in replicas]
    for elr, known in product(_subsets(replicas), ((), *((each,) for each in replicas))):
        states.append((partition(replicas, elr=elr, last_known=known), True))
    for (state, has_elr), unclean, clean in product(states, ("false", "true"), _subsets(replicas)):
        yield Cluster(state, has_elr, settings={"unclean.leader.election.enable": unclean}), clean


def test_who_wins_an_election_that_is_asked_for_is_what_the_controller_decides() -> None:
    """Of each state, for each set of brokers that run, in whatever order they started."""
    for cluster, clean in all_down():
        found = foreseen(cluster, (1, 2, 3), clean=clean)
        decided: dict[frozenset[int], set[int | None]] = {}
        for running, leader in _all_asked(cluster, clean):
            decided.setdefault(running, set()).add(leader)
        assert decided == _by_running(found), (cluster, clean)


@given(cluster=clusters(), clean=st.sets(st.integers(1, 3)))
def test_who_wins_an_election_is_foreseen_also_of_brokers_that_count_as_alive_at_first(
    cluster: Cluster, clean: set[int]
) -> None:
    told = _by_running(foreseen(cluster, cluster.partition.replicas, clean=clean))
    for running, leader in _all_asked(cluster, clean):
        assert running not in told or leader in told[running]


def _all_asked(cluster: Cluster, clean: Iterable[int]) -> Iterator[tuple[frozenset[int], int | None]]:
    """Give each set of brokers that start until somebody leads, and whom an unclean election lets lead then."""
    for order in permutations(cluster.partition.replicas):
        state = cluster.state()
        for broker in sorted({*cluster.alive}.intersection(order)):
            _take(state, "fence", broker, clean=False)
        for number, broker in enumerate(order, 1):
            for step in ("register", "unfence"):
                _take(state, step, broker, clean=broker in clean)
            [told] = forecast(state, ElectionType.UNCLEAN, [PAY_0])
            yield frozenset(order[:number]), told.would_lead
            if told.leader is not None:
                break


def _by_running(found: ForeseenElections) -> dict[frozenset[int], set[int | None]]:
    told: dict[frozenset[int], set[int | None]] = {}
    for order in found.forced:
        told.setdefault(frozenset(order.started), set()).update(each.leader for each in order.elections)
    return told


def _subsets(replicas: Sequence[int]) -> list[tuple[int, ...]]:
    return [taken for count in range(len(replicas) + 1) for taken in combinations(replicas, count)]


def _by_start(found: ForeseenElections) -> dict[tuple[str, ...], frozenset[str | None]]:
    return {
        tuple(map(str, order.started)): frozenset(str(each.leader) for each in order.elections)
        for order in found.orders
    }


def _steps(cluster: Cluster, starting: Iterable[int]) -> dict[int, list[str]]:
    alive = {*cluster.alive}
    return {
        each: steps
        for each in cluster.partition.replicas
        if (
            steps := [
                *(["fence"] if each in alive else []),
                *(["register", "unfence"] if each in {*starting} else []),
            ]
        )
    }


def _all_ends(cluster: Cluster, clean: set[int]) -> Iterable[int | None]:
    steps = _steps(cluster, [1, 2, 3])
    for order in {*permutations([broker for broker, taken in steps.items() for _ in taken])}:
        state, left = cluster.state(), {broker: [*taken] for broker, taken in steps.items()}
        leader = None
        for broker in order:
            _take(state, left[broker].pop(0), broker, clean=broker in clean)
            if not left[broker]:
                del left[broker]
            if (leader := _leader(state, left, {1, 2, 3})) is not None:
                break
        yield leader


def _leader(state: ClusterState, left: dict[int, list[str]], starting: Iterable[int]) -> int | None:
    """Return the leader, if it runs."""
    leader = state.image.topics.by_name[TOPIC].partitions[0].leader
    return leader if leader in {*starting} and leader not in left else None


def _take(state: ClusterState, step: str, broker_id: int, *, clean: bool) -> None:
    broker = state.image.brokers[broker_id]
    records: list[MetadataRecord]
    match step:
        case "fence":
            records = broker_changes.fence(state, broker)
        case "register":
            registered = RegisterBrokerRecord(
                broker_id=broker_id,
                incarnation_id=UUID(int=900 + broker_id),
                broker_epoch=900 + broker_id,
                fenced=True,
                log_dirs=(directory(broker_id),),
            )
            records = [*broker_changes.restart(state, broker_id, clean=clean), registered]
        case _:
            records = broker_changes.unfence(state, broker)
    for record in records:
        state.replay(record, 0)
