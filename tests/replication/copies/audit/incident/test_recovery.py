"""What is gone of copies from before: by the leader epochs of the logs that are there now."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from replication.copies.audit.incident.recovery import recovery_from
from tests.replication.copies.audit.report.documents import candidate, span

Log = list[int]
"""The leader epoch of each record."""


def branch(name: str, log: Log) -> dict[str, Any]:
    starts = [offset for offset, epoch in enumerate(log) if offset == 0 or log[offset - 1] != epoch]
    lineage = [{"epoch": log[offset], "start_offset": offset} for offset in starts]
    return {"replica": name, "records": len(log), "log_end_offset": len(log), "lineage": lineage}


def document(*logs: Log, may_begin_empty: bool = False) -> dict[str, Any]:
    """One partition; what a leader loses are the records that are beyond what it has in common with the others."""
    records = {(offset, epoch) for log in logs for offset, epoch in enumerate(log)}
    candidates = []
    for number, log in enumerate(logs):
        lost = span(len(records - {*enumerate(log)}))
        candidates.append(candidate(f"b{number}", max(log, default=-1), len(log), lost, span(0)))
    branches = [branch(f"b{number}", log) for number, log in enumerate(logs)]
    partition = {"topic": "t", "partition": 0, "unread": [], "branches": branches, "candidates": candidates}
    empty = candidate("b9", -1, 0, span(len(records)), span(0))
    return {"partitions": [{**partition, "without_copy": [empty] if may_begin_empty else []}]}


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Log], Log]:
    """Copies before, each of one more leader than what it has in common with another, and one goes on."""
    logs: list[Log] = [[0] * draw(st.integers(0, 5))]
    for epoch in range(1, draw(st.integers(2, 5))):
        common = draw(st.sampled_from(logs))
        logs.append([*common[: draw(st.integers(0, len(common)))], *[epoch] * draw(st.integers(0, 4))])
    chosen = draw(st.sampled_from(logs))
    return logs, [*chosen, *[9] * draw(st.integers(0, 3))]


@given(histories())
def test_what_is_gone_is_what_the_log_of_now_lacks(history: tuple[list[Log], Log]) -> None:
    before, now = history
    found = recovery_from(document(*before, may_begin_empty=True), document(now, now))
    there = {*enumerate(now)}
    gone = len({each for log in before for each in enumerate(log)} - there)
    assert (found.cost.records, found.unknown) == (gone, ())


def test_where_no_copy_goes_on_it_is_not_told() -> None:
    for now in ([], [0, 3, 3]):
        found = recovery_from(document([0, 0, 1], [0, 0]), document(now))
        assert found.unknown == ("t-0",)
        assert str(found) == "nothing of the copies from before is known to be gone; of t-0 that is not known"


def test_behind_damage_there_may_be_what_was_healed_from() -> None:
    """Its broker would cut such a copy off at once: there is no epoch in it to go on from."""
    before = document([0, 0, 0], [0, 0])
    [partition] = before["partitions"]
    partition["branches"][0] |= {"log_end_offset": 0, "lineage": []}
    partition["candidates"][0] |= {"log_end_offset": 0, "damage": "damaged", "lost": span(3)}
    assert recovery_from(before, document([0, 0], [0, 0])).cost.records == 1
    assert recovery_from(before, document([0, 0, 0], [0, 0, 0])).unknown == ("t-0",)


def test_where_all_logs_are_empty_all_is_gone() -> None:
    found = recovery_from(document([0, 0, 1], [0, 0], may_begin_empty=True), document([], []))
    assert (found.cost.records, found.unknown) == (3, ())
    assert recovery_from(document([], []), document([], [])).gone == {}
