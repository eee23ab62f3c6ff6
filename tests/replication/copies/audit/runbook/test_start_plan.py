"""Brokers start in the order by which least is lost: tried beside all orders, one broker at a time."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from replication.copies.audit.judgement.cost import Cost
from replication.copies.audit.runbook.contest import NOBODY, Contest
from replication.copies.audit.runbook.start_plan import StartPlan, plan_start

BROKERS = ("a", "b", "c")


def contest(
    name: str,
    costs: Mapping[str, int],
    elects: Mapping[str, str] | None = None,
    together: str | None = None,
    asked: Mapping[str, str | None] | None = None,
) -> Contest:
    """A partition; `elects` says whom the controller elects after starts such as "ab", None that files tell nothing.

    `asked` says whom it elects uncleanly of brokers such as "ab" that run, beside each that runs alone.
    """
    orders = {tuple(started): frozenset([leader]) for started, leader in (elects or {}).items()}
    return Contest(
        topic=name,
        number=0,
        costs={broker: Cost(cost, 0, cost) for broker, cost in costs.items()},
        is_told=elects is not None,
        together=frozenset() if elects is None else frozenset([together]),
        orders=orders,
        forced={
            frozenset(run): frozenset([leader])
            for run, leader in {**{each: each for each in costs}, **(asked or {})}.items()
        },
    )


def told(plan: StartPlan) -> list[tuple[str, str]]:
    """Of each stage its brokers, and the partitions of which an unclean election is asked for."""
    return [("".join(stage.brokers), ",".join(each.contest.topic for each in stage.forced)) for stage in plan.stages]


class TestAllAtOnce:
    def test_all_start_where_nothing_is_contested(self) -> None:
        assert told(plan_start([], BROKERS)) == [("abc", "")]
        assert told(plan_start([contest("t", {"a": 5, "b": 5})], BROKERS)) == [("abc", "")]

    def test_all_start_where_the_controller_elects_the_best_whoever_is_first(self) -> None:
        assert told(plan_start([contest("t", {"a": 0, "b": 7}, {"a": "a", "ba": "a"}, "a")], BROKERS)) == [("abc", "")]

    def test_what_nobody_may_lead_is_elected_once_all_run_where_it_does_not_matter_who_leads(self) -> None:
        assert told(plan_start([contest("t", {"a": 0, "b": 0}, {}, NOBODY)], BROKERS)) == [("abc", "t")]


class TestOneAfterTheOther:
    def test_the_best_starts_alone_where_it_leads_by_itself(self) -> None:
        plan = plan_start([contest("t", {"a": 7, "b": 0}, {"a": "a", "b": "b"}, "a")], BROKERS)
        assert told(plan) == [("b", ""), ("ac", "")]
        assert plan.stages[0].stopped == ("a", "c")
        assert plan.cost == Cost()

    def test_acknowledged_records_of_one_outweigh_all_others_of_another(self) -> None:
        costs = {"t": {"a": Cost(), "b": Cost(1, 0, 1)}, "u": {"a": Cost(0, 0, 99), "b": Cost()}}
        contests = [replace(contest(name, dict.fromkeys("ab", 0)), costs=each) for name, each in costs.items()]
        plan = plan_start(contests, ("a", "b"))
        assert told(plan) == [("a", "t,u"), ("b", "")]
        assert plan.cost == Cost(0, 0, 99)
        assert [each.contest.topic for each in plan.sacrificed] == ["u"]

    def test_an_unclean_election_is_asked_for_where_it_does_not(self) -> None:
        plan = plan_start([contest("t", {"a": 7, "b": 0}, {"a": "a", "ba": "a"}, "a")], BROKERS)
        assert told(plan) == [("b", "t"), ("ac", "")]

    def test_an_unclean_election_is_put_off_until_those_run_of_whom_the_best_wins_it(self) -> None:
        one = contest("t", {"a": 0, "b": 7}, {}, NOBODY, asked={"ab": "a"})
        other = contest("u", {"a": 9, "b": 0}, {}, NOBODY, asked={"ab": "a"})
        plan = plan_start([one, other], BROKERS)
        assert told(plan) == [("b", "u"), ("a", "t"), ("c", "")]
        assert (plan.cost, plan.sacrificed) == (Cost(), ())
        assert [led.leaders for stage in plan.stages for led in stage.forced] == [{"b"}, {"a"}]

    def test_nothing_is_expected_of_an_election_that_perhaps_nobody_wins(self) -> None:
        one = contest("t", {"a": 0, "b": 7}, {}, NOBODY, asked={"a": NOBODY, "ab": NOBODY})
        assert plan_start([one], "ab").cost == Cost(7, 0, 7)

    def test_a_broker_that_cannot_lead_yet_may_start_before_the_best(self) -> None:
        one = contest("t", {"a": 7, "b": 0}, {"ab": "b", "b": "b"}, "b")
        other = contest("u", {"a": 0, "b": 9}, {"a": "a", "b": "b"}, "b")
        assert told(plan_start([one, other], BROKERS)) == [("a", ""), ("b", ""), ("c", "")]

    def test_without_metadata_whoever_starts_alone_is_the_only_one_that_can_lead(self) -> None:
        assert told(plan_start([contest("t", {"a": 7, "b": 0})], BROKERS)) == [("b", "t"), ("ac", "")]

    def test_those_without_a_partition_in_common_start_together(self) -> None:
        contests = [contest("t", {"a": 0, "b": 7}), contest("u", {"c": 0, "d": 7})]
        assert told(plan_start(contests, "abcd")) == [("ac", "t,u"), ("bd", "")]

    def test_dozens_of_partitions_take_no_more_stages_than_one(self) -> None:
        contests = [contest(f"t{number}", {"a": 7, "b": number % 3, "c": 9}) for number in range(60)]
        assert [brokers for brokers, _ in told(plan_start(contests, BROKERS))] == ["b", "ac"]

    def test_where_each_should_lead_first_the_dearer_one_does_and_the_other_is_told(self) -> None:
        plan = plan_start([contest("t", {"a": 0, "b": 7}), contest("u", {"a": 9, "b": 0})], "ab")
        assert told(plan) == [("b", "t,u"), ("a", "")]
        assert [(each.contest.topic, each.cost.records) for each in plan.sacrificed] == [("t", 7)]


class TestManyBrokers:
    NAMES = "abcdefgh"

    def test_where_one_order_gives_each_its_best_leader_it_is_found(self) -> None:
        pairs = zip(self.NAMES, self.NAMES[1:], strict=False)
        found = [contest(one + other, {one: 9, other: 0}) for one, other in pairs]
        plan = plan_start(found, self.NAMES)
        assert plan.cost == Cost()
        assert plan.is_of_all_orders

    def test_where_none_was_found_it_is_not_said_that_there_is_none(self) -> None:
        pairs = zip(self.NAMES, self.NAMES[1:] + self.NAMES[0], strict=True)
        found = [contest(one + other, {one: 9, other: 0}) for one, other in pairs]
        plan = plan_start(found, self.NAMES)
        assert plan.cost == Cost(9, 0, 9)
        assert not plan.is_of_all_orders
        assert plan_start(found[:2], self.NAMES).is_of_all_orders

    def test_one_that_costs_least_as_the_next_gives_way_where_less_is_lost_by_that(self) -> None:
        found = [
            contest("t", {"c": 1, "b": 0}),
            contest("u", {"a": 9, "b": 9, "e": 3}),
            contest("v", {"a": 1, "b": 9}),
            contest("w", {"b": 1, "a": 3, "d": 3}),
            contest("x", {"f": 1, "a": 1, "e": 0}),
        ]
        brokers = self.NAMES[:6]

        def lost(order: tuple[str, ...]) -> int:
            return sum(next(each.costs[name].records for name in order if name in each.costs) for each in found)

        assert plan_start(found, brokers).cost.records == min(map(lost, permutations(brokers))) == 7


contests = st.lists(
    st.builds(
        contest,
        st.sampled_from("tuvw"),
        st.dictionaries(st.sampled_from(BROKERS), st.integers(0, 3), min_size=1),
    ),
    max_size=4,
    unique_by=lambda each: each.topic,
)


@st.composite
def foretold(draw: st.DrawFn, name: str) -> Contest:
    """A partition that nobody leads by itself; who wins an election among which brokers the controller decides."""
    costs = draw(st.dictionaries(st.sampled_from(BROKERS), st.integers(0, 3), min_size=1))
    asked = {
        running: draw(st.sampled_from(sorted(running)))
        for running in ("ab", "ac", "bc", "abc")
        if set(running) <= costs.keys()
    }
    return contest(name, costs, {}, NOBODY, asked)


@given(st.tuples(*map(foretold, "tuv")))
def test_no_course_of_starts_and_elections_loses_less(found: tuple[Contest, ...]) -> None:
    def lost(each: Contest, order: tuple[str, ...]) -> int:
        """An election may be asked for after each start."""
        holders = [broker for broker in order if broker in each.costs]
        elected = (each.forced_after(holders[:count]) for count in range(1, len(holders) + 1))
        return min(each.costs[leader].records for leaders in elected for leader in leaders if leader is not NOBODY)

    plan = plan_start(found, BROKERS)
    contested = [each for each in found if each.best != each.costs.keys()]
    assert plan.cost.records == sum(each.least.records for each in found if each not in contested) + min(
        sum(lost(each, order) for each in contested) for order in permutations(BROKERS)
    )
    running: list[str] = []
    for stage in plan.stages:
        running += stage.brokers
        for led in stage.forced:
            assert led.leaders in (led.contest.best, led.contest.forced_after(led.contest.costs.keys() & running))


@given(contests)
def test_no_order_of_starts_one_by_one_loses_less(found: list[Contest]) -> None:
    def lost(order: tuple[str, ...]) -> int:
        return sum(next(each.costs[broker].records for broker in order if broker in each.costs) for each in found)

    plan = plan_start(found, BROKERS)
    contested = [each for each in found if each.best != each.costs.keys()]
    least = min(map(lost, permutations(BROKERS))) - sum(each.least.records for each in found if each not in contested)
    assert plan.cost.records == least
    assert sorted(broker for stage in plan.stages for broker in stage.brokers) == list(BROKERS)
    for stage in plan.stages[:-1]:
        for led in stage.forced:
            assert len(set(stage.brokers) & led.contest.costs.keys()) == 1
