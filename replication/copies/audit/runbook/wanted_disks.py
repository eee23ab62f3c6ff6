"""Disks that are not at hand and may have what no copy here has: to be found before a start decides without them."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final

from replication.base.json_object import Json
from replication.base.next_step import Step
from replication.copies.audit.judgement.elected import beginning_empty, behind, complete_at_hand, is_told
from replication.copies.audit.judgement.not_given import NotGiven, not_given
from replication.copies.audit.judgement.wording import name_of, some
from replication.copies.audit.runbook.contest import NOBODY

GONE: Final = "If it is gone for good, so is what it alone had, which is not counted below: then leave this step out"


def find_disks(document: Json) -> Iterator[Step]:
    """Give a step for each broker, those first that are known to have all.

    Takes the object that `epochlog audit --json` prints.

    >>> [step.what for step in find_disks(document)]
    ['Find the disk of broker 3 before any other starts: by the metadata it has everything of pay-0, and ...']
    """
    undecided = [each for each in document["partitions"] if is_told(each) and not complete_at_hand(each)]
    wanted = _by_broker(filter(_may_lack_some, undecided), lambda each: each["election"]["absent"])
    uncleanly = {name_of(each) for each in undecided if each["election"]["is_recovering"]}
    for broker, names in sorted(wanted.items()):
        yield from _find(broker, names, uncleanly)
    for each in not_given(document):
        yield from _look_for(each, wanted.get(each.broker, ()))
    for broker, names in _by_broker(undecided, beginning_empty).items():
        has = f"has a copy of {some(names)}, and there is none here"
        yield _find_former(broker, has, "begins with an empty log and may be elected with it")
    for broker, names in _by_broker(undecided, behind).items():
        has = f"has everything of {some(names)}, and here it lacks acknowledged records of that which others have"
        yield _find_former(broker, has, "may be elected without them")


def _by_broker(partitions: Iterable[Json], brokers_of: Callable[[Json], Iterable[Any]]) -> dict[Any, list[str]]:
    """List the partitions' names by broker."""
    found: dict[Any, list[str]] = {}
    for each in partitions:
        for broker in brokers_of(each):
            found.setdefault(broker, []).append(name_of(each))
    return found


def _may_lack_some(partition: Json) -> bool:
    """Whether nobody here leads without an unclean election."""
    return all(each["unclean"] or each["leader"] is NOBODY for each in partition["election"]["together"])


def _find(broker: int, names: list[str], uncleanly: Collection[str]) -> Iterator[Step]:
    """Name a broker whose directories were not given, and what it has of partitions."""
    find = f"Find the disk of broker {broker} before any other starts"
    then = f"Name it to this command too, and let it lead. {GONE}"
    if whole := [each for each in names if each not in uncleanly]:
        yield Step(
            f"{find}: by the cluster's metadata it has everything of {some(whole)}, and of no copy that is here this "
            f"is known. {then}"
        )
    if parts := [each for each in names if each in uncleanly]:
        yield Step(
            f"{find}: it led {some(parts)} last, elected uncleanly, and alone has what was written since. {then}"
        )


def _look_for(broker: NotGiven, wanted: Collection[str]) -> Iterator[Step]:
    """Name a broker that is not known to have all, where nobody at hand is either; `wanted` is looked for already."""
    if names := [each for each in broker.undecided if each not in wanted]:
        yield Step(
            f"Name the directories of broker {broker.broker} to this command too, before any broker starts: it has "
            f"replicas of {some(names)}, of which no copy that is here is known to have everything. If they are gone "
            "for good, so is what it alone had, which is not counted below"
        )


def _find_former(broker: str, has: str, then: str) -> Step:
    """Name a broker at hand whose disk is not the one on which it acknowledged."""
    return Step(
        f"Find the disk that {broker} had before: by the cluster's metadata it {has}. With the disk that it has now it "
        f"{then}, and the others would cut off what they have beyond. Put the former disk back, or name its copy to "
        f"this command in place of this one. {GONE}",
        stopped=f"{broker}: until its former disk is back, or a step below says to start it",
    )
