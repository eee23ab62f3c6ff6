"""What is at stake in one partition, in one line: the decision of the runbook, and what it is better than."""

from collections.abc import Iterator

from replication.base.counted import counted
from replication.base.json_object import Json
from replication.copies.audit.judgement.cost import Cost
from replication.copies.audit.judgement.elected import (
    NOT_TOLD,
    beginning_empty,
    candidate_of,
    choices_of,
    expected_of,
    is_told,
    leaders_in_words,
)
from replication.copies.audit.judgement.verdict import Verdict
from replication.copies.audit.judgement.wording import acknowledged_in_words, name_of
from replication.copies.audit.runbook.start_plan import Led


def chosen_leader(partition: Json, led: Led | None) -> Json | None:
    """Return the candidate that leads by the runbook, the worst where several may; None where nobody should yet."""
    least = candidate_of(partition, partition["least_loss"])
    if Verdict.UNKNOWN in partition["verdicts"] or least is None or least["damage"]:
        return None
    chosen = (led and led.worst and _choice_of(partition, led.worst)) or least
    return None if chosen["lost"] is None else chosen


def in_short(partition: Json, chosen: Json | None) -> str:
    """Return who leads by the runbook and what that loses, and what would be lost otherwise; no full stop.

    >>> in_short(partition, chosen)
    'quiet-0, lagging: broker-1 leads by the runbook: no loss known; Kafka by itself elects broker-2: 70 records ...'
    """
    return f"{name_of(partition)}, {partition['verdict']}: {'; '.join(_parts(partition, chosen))}"


def _parts(partition: Json, chosen: Json | None) -> Iterator[str]:
    if chosen is None:
        yield _why_nobody(partition)
        return
    least = Cost.of(chosen)
    others = [each for each in choices_of(partition) if each["lost"] is not None and Cost.of(each) > least]
    if not others and least.records:
        yield f"whoever leads, {_lost(least)}"
        return
    if not others:
        yield "whoever leads, no loss is known"
        return
    yield f"{chosen['replica']} leads by the runbook: {_lost(least)}"
    yield from _otherwise(partition, others)


def _otherwise(partition: Json, others: list[Json]) -> Iterator[str]:
    """Yield what Kafka's own course would lose, or where that is not known, the worst one."""
    worst = max(map(Cost.of, others))
    if not is_told(partition):
        yield f"under another up to {_lost(worst)}"
        return
    expected = [
        each for each in others if each in expected_of(partition) or each["replica"] in beginning_empty(partition)
    ]
    if expected:
        kafkas = max(map(Cost.of, expected))
        yield f"if all start at once Kafka elects {leaders_in_words(partition)}: {_lost(kafkas)}"
    else:
        yield f"under another up to {_lost(worst)}"


def _lost(cost: Cost) -> str:
    if not cost.records:
        return "no loss is known"
    told = acknowledged_in_words(cost.records, cost.acknowledged, cost.maybe)
    return f"{counted(cost.records, 'record')} lost, {told}"


def _why_nobody(partition: Json) -> str:
    """Return why nobody should lead it yet."""
    if partition["unread"]:
        return f"not decided: the copy of {', '.join(partition['unread'])} was not read, or not whole"
    least = candidate_of(partition, partition["least_loss"])
    if least is None:
        return "no copy can lead" if not partition["candidates"] else "not decided: what is lost is not known"
    if least["damage"]:
        return f"not decided: {least['replica']}, under which least is lost, is not to be trusted"
    return "not decided: not all was read" if Verdict.UNKNOWN in partition["verdicts"] else NOT_TOLD


def _choice_of(partition: Json, replica: str) -> Json | None:
    return next((each for each in choices_of(partition) if each["replica"] == replica), None)
