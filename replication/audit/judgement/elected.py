"""Whom Kafka elects of a partition, in words, from the object that `epochlog audit --json` prints of it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from replication.audit.judgement.cost import Cost
from replication.audit.judgement.verdict import Verdict
from replication.counted import counted
from replication.leadership.reason import Reason

Json = Mapping[str, Any]

LATEST_AND_LONGEST: Final = "the latest leader epoch and the longest log"
_WORSE: Final = frozenset({Verdict.FORKED, Verdict.DAMAGED, Verdict.SILENT_DIVERGENCE})
NOT_TOLD: Final = "the files do not tell whom Kafka elects"
_REASONS: Final = {
    Reason.LAST_KNOWN_LEADER: "as the last known leader, for nobody is left who is known to have everything",
    Reason.UNCLEAN: "uncleanly, as the topic's settings allow it",
}
"""Of those that are told: a leader that is in sync or eligible is what everybody expects."""


def candidate_of(partition: Json, replica: str | None) -> Json | None:
    """Return what is known of a replica as the leader."""
    return next((each for each in partition["candidates"] if each["replica"] == replica), None)


def choices_of(partition: Json) -> list[Json]:
    """Return all that may lead: the copies, and those that have none and would begin with an empty log."""
    return [*partition["candidates"], *partition["without_copy"]]


def is_told(partition: Json) -> bool:
    """Whether the files tell whom Kafka elects, even if it is nobody."""
    return partition["election"] is not None and partition["election"]["why_unknown"] is None


def expected_of(partition: Json) -> list[Json]:
    """Return the candidates that have to be reckoned with, unless somebody chooses.

    Those that Kafka may elect; where the files do not tell that, the one of the latest leader epoch and longest log.
    """
    names = _leaders(partition) if is_told(partition) else [partition["latest_and_longest"]]
    return [each for each in partition["candidates"] if each["replica"] in names]


def worst_expected(partition: Json) -> Json | None:
    """Return that one of them under which most is lost, acknowledged records first; None where none is known."""
    known = [each for each in expected_of(partition) if each["lost"] is not None]
    return max(known, key=Cost.of, default=None)


def kafka_in_words(partition: Json) -> str:
    """Say whom Kafka elects once all brokers at hand start together.

    >>> kafka_in_words(partition)
    'Kafka elects broker-2, as the last known leader, for nobody is left who is known to have everything'
    """
    if not is_told(partition):
        return NOT_TOLD
    names = leaders_in_words(partition)
    reasons = {each["reason"] for each in partition["election"]["together"]}
    why = [text for reason, text in _REASONS.items() if reasons == {reason.value}]
    several = ", whichever is ready first" if len(_named(partition)) > 1 else ""
    empty = [
        f"{each} has no copy here, begins with an empty log, and all is lost" for each in beginning_empty(partition)
    ]
    return "; ".join([", ".join([f"Kafka elects {names}{several}", *why]) + _by_whom(partition), *empty])


def leaders_in_words(partition: Json) -> str:
    """Name who leads then, in a few words.

    >>> leaders_in_words(partition)
    'broker-1 or broker-2'
    """
    if partition["election"] is None:
        return ""
    return " or ".join(_named(partition)) if is_told(partition) else "not known"


def why_untold(partition: Json) -> str | None:
    """Return why the files do not tell it."""
    return partition["election"]["why_unknown"] if partition["election"] else None


def untold_in_words(partitions: Sequence[Json]) -> Iterator[str]:
    """Say of how many partitions the files do not tell whom Kafka elects, and why; a line for each reason.

    >>> list(untold_in_words(document["partitions"]))
    ["of 9 partitions the files do not tell whom Kafka elects: none of the directories holds the cluster's metadata..."]
    """
    reasons = Counter(why for each in partitions if (why := why_untold(each)) is not None)
    for why, count in reasons.most_common():
        yield f"of {counted(count, 'partition')} {NOT_TOLD}: {why}"


def absent_in_words(partition: Json) -> str | None:
    """Say which replica has to be looked for first, as it is known to have everything, and is not at hand.

    >>> absent_in_words(partition)
    'broker 3 is the only one that is known to have everything of pay-0: find its disk'
    """
    election = partition["election"]
    if not is_told(partition) or not election["absent"]:
        return None
    absent = [f"broker {each}" for each in election["absent"]]
    name = f"{partition['topic']}-{partition['partition']}"
    one = len(absent) == 1
    if not lacks_everybody_eligible(partition):
        return (
            f"{_listed(absent)}, whose directories are not among these, {'is' if one else 'are'} known to have "
            f"everything of {name} as well: find {'its disk' if one else 'their disks'}"
        )
    only = "is the only one that is" if one else "are the only ones that are"
    return f"{_listed(absent)} {only} known to have everything of {name}: find {'its disk' if one else 'a disk of one'}"


def behind_in_words(partition: Json) -> Iterator[str]:
    """Name replicas that have everything by the metadata and lack acknowledged records: whose log is another by now.

    >>> [*behind_in_words(partition)]
    ['By the metadata broker-2 has everything, and yet it lacks acknowledged records that are here: unless an ...']
    """
    election = partition["election"]
    # What is worse tells by itself why a copy lacks what others have.
    if not is_told(partition) or not election["is_complete"] or _WORSE & {*partition["verdicts"]}:
        return
    foreseen = [*election["together"], *(each for order in election["forced"] for each in order["elections"])]
    eligible = {each["replica"] for each in foreseen if each["leader"] in {*election["isr"], *election["elr"]}}
    for each in partition["candidates"]:
        if each["replica"] in eligible and each["acknowledged"] and each["acknowledged"]["records"]:
            yield (
                f"By the metadata {each['replica']} has everything, and yet it lacks acknowledged records that are "
                "here: unless an unclean election before cut them off, its log is not the one that it had, but older, "
                "or without its end. What it acknowledged last may then be in no copy here: look for its former disk "
                "before any broker starts"
            )


def beginning_empty(partition: Json) -> list[str]:
    """Name those whom Kafka may elect although they lack their copy: they begin with an empty log."""
    return [each for each in dict.fromkeys(_leaders(partition)) if each in partition["missing"]]


def lacks_everybody_eligible(partition: Json) -> bool:
    """Whether no replica that is known to have everything is at hand, although there is one."""
    election = partition["election"]
    if not is_told(partition) or not election["absent"]:
        return False
    return {*election["isr"], *election["elr"]} <= {*election["absent"]}


def _by_whom(partition: Json) -> str:
    election = partition["election"]
    if election["is_complete"]:
        return ""
    return f" (by {election['metadata_of']}'s copy of the metadata, which may lack what was decided last)"


def _leaders(partition: Json) -> list[str]:
    if not is_told(partition):
        return []
    return [each["replica"] for each in partition["election"]["together"] if each["replica"] is not None]


def _named(partition: Json) -> Sequence[str]:
    """Name who may lead, each once."""
    told = partition["election"]["together"]
    names = [each["replica"] or ("nobody" if each["leader"] is None else f"broker {each['leader']}") for each in told]
    return [*dict.fromkeys(names)]


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
