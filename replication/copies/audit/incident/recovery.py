"""What became of copies from before a recovery: how much of them the logs that are there now go on from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from replication.base.counted import counted
from replication.base.json_object import Json
from replication.copies.audit.judgement.cost import Cost
from replication.copies.audit.judgement.wording import acknowledged_in_words, name_of, some


@dataclass(frozen=True, slots=True)
class Recovery:
    """What is gone of the copies from before, by partition; of those in which nothing is, nothing is said."""

    gone: Mapping[str, Cost]
    unknown: tuple[str, ...]
    """The partitions of which that is not known."""

    @property
    def cost(self) -> Cost:
        """All that is gone, as far as it is known."""
        total = Cost()
        for each in self.gone.values():
            total = total.plus(each)
        return total

    def __str__(self) -> str:
        cost = self.cost
        known = "known to be " if self.unknown else ""
        told = f"nothing of the copies from before is {known}gone"
        if cost.records:
            acknowledged = acknowledged_in_words(cost.records, cost.acknowledged, cost.maybe)
            each_lost = some([f"{each.records:,} of {name}" for name, each in self.gone.items()])
            told = (
                f"of the copies from before {counted(cost.records, 'record')} {'is' if cost.records == 1 else 'are'} "
                f"gone, {acknowledged}: {each_lost} (what was written back since has other offsets, and counts as gone)"
            )
        unknown = f"; of {some(self.unknown)} that is not known" if self.unknown else ""
        return f"{told}{unknown}"

    def as_json(self) -> dict[str, Any]:
        """Return it as `epochlog incident --json` prints it."""
        return {
            "gone": [{"partition": name, **cost._asdict()} for name, cost in self.gone.items()],
            "unknown": list(self.unknown),
        }


def recovery_from(before: Json, after: Json) -> Recovery:
    """Compare two audits' documents: of the copies that were kept, and of those that are there now.

    >>> str(recovery_from(audit_locally(kept).document, audit_locally(copies).document))
    'of the copies from before 82 records are gone, 82 of them acknowledged: 77 of diverge-0, 5 of hwloss-0 (...'
    """
    now = {_place(each): each for each in after["partitions"]}
    gone: dict[str, Cost] = {}
    unknown: list[str] = []
    for each in before["partitions"]:
        cost = _cost(each, now[_place(each)]) if _place(each) in now else None
        if cost is None:
            unknown.append(name_of(each))
        elif cost.records:
            gone[name_of(each)] = cost
    return Recovery(gone, tuple(unknown))


def _cost(before: Json, after: Json) -> Cost | None:
    """Return what is lost of a partition: as under that copy from before which a log of now goes on from."""
    if before["unread"] or not after["branches"]:
        return None
    if not any(each["records"] for each in after["branches"]):
        return _cost_of_all(before)
    is_damaged = any(each["damage"] for each in before["candidates"])
    going_on = {each["replica"] for each in before["branches"] if any(_goes_on(each, log) for log in after["branches"])}
    if len(going_on) == len(before["branches"]) and not is_damaged:
        return Cost()
    known = [each for each in before["candidates"] if each["replica"] in going_on and each["lost"] is not None]
    least = min(known, key=Cost.of, default=None)
    if least is None or not least["lost"]["records"]:
        return None if least is None else Cost()
    if is_damaged and any(each["log_end_offset"] != least["log_end_offset"] for each in after["branches"]):
        # What lies behind the damage in a copy from before may be what there is more of now.
        return None
    return Cost.of(least)


def _cost_of_all(before: Json) -> Cost | None:
    """Return what is lost where all logs are empty: as under a leader that begins with an empty one."""
    if not any(each["records"] for each in before["branches"]):
        return Cost()
    return min((Cost.of(each) for each in before["without_copy"] if each["lost"] is not None), default=None)


def _goes_on(branch: Json, log: Json) -> bool:
    """Whether a log has all of a copy, by their leader epochs: each epoch is written by one leader alone."""
    if not branch["lineage"]:
        return True
    *_, last = branch["lineage"]
    end: int = branch["log_end_offset"]
    return dict(_ends(log)).get(last["epoch"], 0) >= end


def _ends(log: Json) -> Iterator[tuple[int, int]]:
    """Give each epoch, and the offset after its last record."""
    nexts = [each["start_offset"] for each in log["lineage"][1:]]
    for each, end in zip(log["lineage"], [*nexts, log["log_end_offset"]], strict=False):
        yield each["epoch"], end


def _place(partition: Json) -> tuple[str, int]:
    return partition["topic"], partition["partition"]
