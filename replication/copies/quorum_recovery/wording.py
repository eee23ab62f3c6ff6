"""Advice about a quorum in words: what to restore from, and what the other choices would forget."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from replication.base.metadata_partition import METADATA_PARTITION
from replication.copies.quorum_recovery.quorum_advice import CopyStanding, QuorumAdvice
from replication.records.metadata.image_difference import Change, Difference, Subject

MOST_NAMES: Final = 5
"""Of a kind that are named; `--json` has all."""
_PLURALS: Final = {
    Subject.ACCESS_CONTROL_ENTRY: "access control entries",
    Subject.PRODUCER_IDS: "blocks of producer ids",
    Subject.MIGRATION: "states of the migration from ZooKeeper",
}
_VERBS: Final = {Change.REMOVED: "forgets", Change.ADDED: "has besides", Change.CHANGED: "has otherwise"}


def headline(advice: QuorumAdvice) -> str:
    """Return what to restore from, and how certain it is."""
    best = advice.best
    if best is None:
        return f"{METADATA_PARTITION}: no controller starts with any of these copies."
    where = f"{METADATA_PARTITION}: restore the controllers from {advice.recommended} ({best.position})"
    if advice.is_complete:
        return f"{where}: it has all metadata that was committed."
    return f"{where}: it is the best of these copies, but whether it has all that was committed cannot be known."


def opening(advice: QuorumAdvice) -> Iterator[str]:
    """Yield what matters most: what to restore from, and what may mislead."""
    if advice.best and advice.voters and not advice.is_of_controllers:
        yield _only_brokers(advice.best)
        return
    yield headline(advice)
    yield from _warning(advice)


def in_one_line(advice: QuorumAdvice) -> str | None:
    """Return what matters to an operator with brokers to start, who need not restore anything if all is well."""
    best = advice.best
    if best is None or not advice.is_of_controllers or advice.has_something_to_decide:
        return next(opening(advice), None)
    return (
        f"{METADATA_PARTITION}: {advice.recommended} ({best.position}) has all metadata that was committed. Only if "
        "the controllers' own directories are lost, restore them from it."
    )


def reasons(advice: QuorumAdvice) -> Iterator[str]:
    """Yield what the other choices would lose, and what is not certain."""
    for standing in advice.copies:
        yield from _consequences(standing)
    for doubt in advice.doubts:
        yield f"Note: {doubt}."


def _only_brokers(best: CopyStanding) -> str:
    return (
        f"{METADATA_PARTITION}: no controller's copy is among these. If the controllers are lost, {best.copy.name} "
        f"goes furthest ({best.position})."
    )


def _warning(advice: QuorumAdvice) -> Iterator[str]:
    """Warn of copies with a higher end offset."""
    standings = [each for each in advice.copies if each.copy.name in advice.misleading]
    if standings:
        told = ", ".join(
            f"{each.copy.name} ({each.position.end_offset:,}, of epoch {each.position.epoch})" for each in standings
        )
        ends = "ends" if len(standings) == 1 else "end"
        yield (
            f"Do not go by the highest end offset: {told} {ends} beyond it, with what an earlier leader wrote that was "
            "never committed."
        )


def _consequences(standing: CopyStanding) -> Iterator[str]:
    """Yield what a cluster lacks and has besides if it is restored from this copy, not the recommended one."""
    name = standing.copy.name
    if standing.differences is None:
        yield f"What a cluster restored from {name} would forget is not known: one of the two cannot be loaded."
        return
    order = [Change.REMOVED, Change.CHANGED, Change.ADDED]
    in_order = sorted(standing.differences, key=lambda each: order.index(each.change))
    grouped = groupby(in_order, key=lambda each: (each.change, each.subject))
    for (change, subject), group in grouped:
        yield f"Restored from {name}, the cluster {_told(change, subject, list(group))}."


def _told(change: Change, subject: Subject, differences: Sequence[Difference]) -> str:
    count = len(differences)
    what = subject.value if count == 1 else _PLURALS.get(subject, f"{subject.value}s")
    named = "; ".join(map(_named, differences[:MOST_NAMES]))
    more = f"; and {count - MOST_NAMES:,} more" if count > MOST_NAMES else ""
    return f"{_VERBS[change]} {count:,} {what}: {named}{more}"


def _named(difference: Difference) -> str:
    if difference.change is Change.CHANGED:
        return f"{difference.name} ({', '.join(_changes(difference))})"
    values = difference.after if difference.before is None else difference.before
    if difference.subject is Subject.TOPIC and values is not None:
        partitions = values["partitions"]
        return f"{difference.name} ({partitions:,} partition{'' if partitions == 1 else 's'})"
    if difference.subject is Subject.CONFIGURATION and values is not None:
        return f"{difference.name} ({', '.join(f'{key}={value}' for key, value in values.items())})"
    if difference.subject in {Subject.FEATURE, Subject.PRODUCER_IDS} and values is not None:
        return f"{difference.name} ({', '.join(map(str, values.values()))})"
    return difference.name


def _changes(difference: Difference) -> Iterator[str]:
    before, after = difference.before or {}, difference.after or {}
    for key in before:
        name = key.replace("_", " ")
        if before[key] == after[key]:
            yield f"{name} differs"
        else:
            yield f"{name} {_value(after[key])}, not {_value(before[key])}"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{','.join(map(str, value))}]"
    return "none" if value is None else str(value)
