"""What a contest takes from the object of a partition: costs, and whom the controller elects after which starts."""

from typing import Any

from replication.copies.audit.judgement.cost import Cost
from replication.copies.audit.runbook.contest import NOBODY, Contest
from replication.copies.audit.runbook.start_plan import plan_start
from tests.replication.copies.audit.report.documents import candidate, forked, span

NAMES = {1: "broker-1", 2: "broker-2", 3: "broker-3"}


def elected(*leaders: int | None, unclean: bool = False) -> list[dict[str, Any]]:
    return [{"leader": leader, "unclean": unclean} for leader in leaders]


def election(**said: Any) -> dict[str, Any]:
    nothing: dict[str, Any] = {"why_unknown": None, "together": [], "orders": [], "forced": [], "absent": []}
    return {**nothing, **said}


def test_costs_are_those_of_the_candidates() -> None:
    contest = Contest.of(forked(), NAMES)
    assert contest.name == "payments-0"
    assert contest.costs == {
        "broker-1": Cost(0, 0, 50),
        "broker-2": Cost(120, 0, 120),
        "broker-3": Cost(120, 0, 170),
    }
    assert contest.best == {"broker-1"}


def test_where_the_files_do_not_tell_a_broker_that_starts_alone_can_lead() -> None:
    for partition in (forked(), {**forked(), "election": election(why_unknown="there is no copy of the metadata")}):
        contest = Contest.of({**partition, "election": partition.get("election")}, NAMES)
        if not contest.is_told:
            assert contest.after(("broker-1",)) is None
            assert contest.forced_after(["broker-1"]) == {"broker-1"}


def test_what_is_foreseen_is_taken_by_names() -> None:
    said = election(
        together=elected(2),
        orders=[{"started": [2], "elections": elected(2)}, {"started": [1, 2], "elections": elected(2)}],
        forced=[{"started": [1], "elections": elected(1, unclean=True)}],
        absent=[7],
    )
    contest = Contest.of({**forked(), "election": said}, NAMES)
    assert contest.is_told
    assert not contest.is_settled
    assert contest.after(("broker-1",)) is None
    assert contest.after(("broker-1", "broker-2")) == frozenset(["broker-2"])
    assert contest.forced_after(["broker-1"]) == {"broker-1"}
    assert contest.absent == (7,)
    plan = plan_start([contest], list(NAMES.values()))
    assert [(stage.brokers, len(stage.forced)) for stage in plan.stages] == [
        (("broker-1",), 1),
        (("broker-2", "broker-3"), 0),
    ]


def test_what_nobody_may_lead_waits_for_an_unclean_election() -> None:
    partition = forked()
    partition["candidates"] = [candidate(f"broker-{number}", 1, 300, span(0), span(0)) for number in (1, 2)]
    said = election(together=elected(NOBODY))
    assert Contest.of({**partition, "election": said}, NAMES).waits_for_an_unclean_election
