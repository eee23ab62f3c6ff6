"""What is said of each stage: who starts and who waits, which file lists the elections, what is lost, how to see it."""

import json
import shlex
from dataclasses import replace
from typing import Any

from replication.base.next_step import Step
from replication.copies.audit.judgement.cost import Cost
from replication.copies.audit.runbook.contest import Contest
from replication.copies.audit.runbook.start_plan import plan_start
from replication.copies.audit.runbook.start_steps import StartSteps

SNAPSHOTS: list[dict[str, Any]] = [
    {"name": f"broker-{number}", "node_id": number, "roots": [f"/b{number}"]} for number in (1, 2, 3)
]


def steps(*contests: Contest) -> list[Step]:
    plan = plan_start(contests, [each["name"] for each in SNAPSHOTS])
    return list(StartSteps(plan, SNAPSHOTS, "b:9092").steps())


def contest(topic: str, *costs: Cost, number: int = 0) -> Contest:
    return Contest(topic, number, {f"broker-{broker}": cost for broker, cost in enumerate(costs, 1)})


def test_dozens_of_partitions_are_four_steps_and_one_file() -> None:
    controllers, start, first, then = steps(
        *(contest("t", Cost(7, 0, 9), Cost(0, 2, 3), number=number) for number in range(40))
    )
    assert controllers.what.startswith("Start the controllers, and wait a minute: ")
    assert controllers.stopped == "all brokers: until the next steps name them"
    assert start.what == "Start broker-2, and no other broker"
    assert (start.stopped, start.loses, start.check) == (first.stopped, None, None), "nobody leads by that alone"
    assert "t-0, t-1, t-2, t-3, t-4 and 35 more" in first.what
    assert (
        first.stopped
        == "broker-1, broker-3, and every broker that is not named here: until a step below says to start it"
    )
    assert first.loses == (
        "120 records, at most 80 of them acknowledged, the other 40 with acks=1, if at all: "
        "3 of t-0, 3 of t-1, 3 of t-2, 3 of t-3, 3 of t-4 and 35 more"
    )
    assert first.check == "broker-2 leads t-0, t-1, t-2, t-3, t-4 and 35 more"
    assert first.check_commands == ("epochlog cluster --bootstrap b:9092 --topics t",)
    fenced, write, look, hold = first.commands
    assert fenced == "epochlog cluster --bootstrap b:9092"
    _, listed, _, name = shlex.split(write)
    assert json.loads(listed)["partitions"] == [{"topic": "t", "partition": number} for number in range(40)]
    assert f"--election-type unclean --path-to-json-file {name}" in hold
    assert look == f"{hold} --dry-run --log-dir 1=/b1 --log-dir 2=/b2 --log-dir 3=/b3"
    assert then.what.startswith("Only now start broker-1, broker-3, and every other broker")
    assert (then.commands, then.stopped, then.loses, then.check) == ((), None, None, None)


def test_what_loses_more_than_it_would_have_to_is_told() -> None:
    *_, first, _ = steps(contest("t", Cost(), Cost(9, 0, 9)), contest("u", Cost(7, 0, 7), Cost()))
    assert first.loses == (
        "7 records, 7 of them acknowledged: 7 of u-0. u-0 would lose less under another broker, and others more then: "
        "no order of starts gives each its best leader"
    )


def test_where_it_makes_no_difference_all_start() -> None:
    [step] = steps(contest("t", Cost(), Cost()))
    assert step.what == (
        "With the controllers running, start broker-1, broker-2, broker-3, in any order, and no other broker: which of "
        "them leads makes no difference, as far as the copies show"
    )
    assert step.as_json() == {
        "what": step.what,
        "commands": [],
        "stopped": "every broker that is not named here: until what is checked below is so. One that starts on an "
        "empty disk may be elected before, and the others would empty their logs after it",
        "loses": None,
        "check": "none of their partitions is listed as unavailable",
        "check_commands": ["epochlog cluster --bootstrap b:9092 --unavailable"],
        "is_preliminary": False,
    }


def test_what_nobody_leads_by_itself_is_not_said_to_be_elected_by_the_controller() -> None:
    nobody: frozenset[str | None] = frozenset([None])
    leaderless = Contest("t", 0, {"broker-1": Cost(), "broker-2": Cost()}, is_told=True, together=nobody)
    start, election = steps(leaderless)
    assert "the controller elects" not in start.what
    assert "hold an unclean election of t-0: " in election.what
    assert election.check == "broker-1 or broker-2 leads t-0; none of their partitions is listed as unavailable"
    assert start.stopped == election.stopped


def test_an_election_among_several_that_run_is_held_only_once_the_dry_run_names_the_right_one() -> None:
    one, other = frozenset(["broker-1"]), frozenset(["broker-2"])
    asked = {one: one, other: other, one | other: one}
    told = contest("t", Cost(), Cost(7, 0, 7)), contest("u", Cost(9, 0, 9), Cost())
    _, _, alone, start, among, _ = steps(*(replace(each, is_told=True, forced=asked) for each in told))
    assert "Where several brokers run" not in alone.what
    assert start.what == "Start broker-1, and no other broker"
    assert "the controller elects the first of its replicas that runs: hold the election only once" in among.what
    assert (alone.check, among.check) == ("broker-2 leads u-0", "broker-1 leads t-0")


def test_a_dry_run_is_given_no_directory_that_it_would_refuse() -> None:
    plan = plan_start([contest("t", Cost(), Cost(9, 0, 9))], ["broker-1"])
    told = StartSteps(plan, SNAPSHOTS, "b:9092").steps()
    [look] = [command for step in told for command in step.commands if "--dry-run" in command]
    assert look.endswith(" --path-to-json-file unclean-1.json --dry-run")


class TestBrokersThatAreControllersToo:
    def steps(self, *costs: Cost, voters: tuple[int, ...]) -> list[Step]:
        plan = plan_start([contest("t", *costs)], [each["name"] for each in SNAPSHOTS])
        return list(StartSteps(plan, SNAPSHOTS, "b:9092", voters).steps())

    def test_none_whose_vote_is_needed_is_kept_stopped(self) -> None:
        first, start, election, then = self.steps(Cost(7, 0, 9), Cost(), Cost(1, 0, 1), voters=(1, 2, 100))
        assert ". Of the brokers each of these is a controller as well, with a vote (" in first.what
        assert "start it with process.roles=controller" in first.what
        assert "names; when its turn comes, restart it with its own settings: broker-2, broker-1" in first.what
        assert start.stopped == election.stopped
        assert start.stopped == (
            "broker-1, broker-3, and every broker that is not named here: until a step below says to start it; "
            "but broker-1 as a broker only: as a controller it runs"
        )
        assert "process.roles" not in then.what

    def test_where_all_start_at_once_no_controllers_are_waited_for(self) -> None:
        [step] = self.steps(Cost(), Cost(), voters=(1,))
        assert step.what.startswith("Together with the other controllers, start broker-1, broker-2, broker-3")

    def test_brokers_without_a_vote_are_no_controllers(self) -> None:
        first, start, *_ = self.steps(Cost(7, 0, 9), Cost(), voters=(100,))
        assert "process.roles" not in first.what
        assert "controller" not in str(start.stopped)


def test_of_a_single_broker_no_order_is_told() -> None:
    plan = plan_start([contest("t", Cost())], ["broker-1"])
    [step] = StartSteps(plan, SNAPSHOTS, "b:9092").steps()
    assert step.what.startswith("With the controllers running, start broker-1, and no other broker")
