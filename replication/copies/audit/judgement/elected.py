"""Whom Kafka elects of a partition, in words, from the object that `epochlog audit --json` prints of it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from replication.base.counted import counted
from replication.base.json_object import Json
from replication.copies.audit.judgement.cost import Cost
from replication.copies.audit.judgement.verdict import Verdict
from replication.records.leadership.reason import Reason

LATEST_AND_LONGEST: Final = "the latest leader epoch and the longest log"
_WORSE: Final = frozenset({Verdict.FORKED, Verdict.DAMAGED, Verdict.SILENT_DIVERGENCE})
NOT_TOLD: Final = "the files do not show whom Kafka elects"
_REASONS: Final = {
    Reason.LAST_KNOWN_LEADER: "as the last known leader, as no replica is left that is known to have everything",
    Reason.UNCLEAN: "uncleanly, as the topic's settings allow it",
}
"""Of those that are reported: a leader that is in sync or eligible is what everybody expects."""


def candidate_of(partition: Json, replica: str | None) -> Json | None:
    """Return what is known of a replica as the leader."""
    return next((each for each in partition["candidates"] if each["replica"] == replica), None)


def choices_of(partition: Json) -> list[Json]:
    """Return all that may lead: the copies, and those that have none and would begin with an empty log."""
    return [*partition["candidates"], *partition["without_copy"]]


def is_told(partition: Json) -> bool:
    """Whether the files show whom Kafka elects, even if it is nobody."""
    return partition["election"] is not None and partition["election"]["why_unknown"] is None


def expected_of(partition: Json) -> list[Json]:
    """Return the candidates that have to be reckoned with, unless somebody chooses.

    Those that Kafka may elect; where the files do not show that, the one of the latest leader epoch and longest log.
    """
    names = _leaders(partition) if is_told(partition) else [partition["latest_and_longest"]]
    return [each for each in partition["candidates"] if each["replica"] in names]


def worst_expected(partition: Json) -> Json | None:
    """Return that one of them under which most is lost, acknowledged records first; None where none is known."""
    known = [each for each in expected_of(partition) if each["lost"] is not None]
    return max(known, key=Cost.of, default=None)


def kafka_in_words(partition: Json) -> str:
    """Return whom Kafka elects once all brokers at hand start together.

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
    """Return why the files do not show it."""
    return partition["election"]["why_unknown"] if partition["election"] else None


def untold_in_words(partitions: Sequence[Json]) -> Iterator[str]:
    """Yield for how many partitions the files do not show whom Kafka elects, and why; a line for each reason.

    >>> list(untold_in_words(document["partitions"]))
    ["of 9 partitions the files do not show whom Kafka elects: none of the directories holds the cluster's metadata..."]
    """
    reasons = Counter(why for each in partitions if (why := why_untold(each)) is not None)
    for why, count in reasons.most_common():
        yield f"of {counted(count, 'partition')} {NOT_TOLD}: {why}"


def absent_in_words(partition: Json) -> str | None:
    """Return which missing replica to look for first, as it is known to have everything.

    >>> absent_in_words(partition)
    'broker 3 is the only one that is known to have everything of pay-0: find its disk'
    """
    election = partition["election"]
    if not is_told(partition) or not election["absent"]:
        return None
    name = f"{partition['topic']}-{partition['partition']}"
    absent = [f"broker {each}" for each in election["absent"]]
    one = len(absent) == 1
    is_known, find = (
        f"{'is' if one else 'are'} known to have everything of {name}",
        "find " + ("its disk" if one else "their disks"),
    )
    if election["is_recovering"]:
        return f"{_listed(absent)} led {name} last, elected uncleanly, and alone has what was written since: {find}"
    if complete := complete_at_hand(partition):
        return f"{_listed(absent)}, whose directories are not among these, {is_known}, as {_listed(complete)}: {find}"
    if not lacks_everybody_eligible(partition):
        return (
            f"{_listed(absent)}, whose directories are not among these, {is_known}, which can be said of no copy that "
            f"is here: {find}"
        )
    only = "is the only one that is" if one else "are the only ones that are"
    return f"{_listed(absent)} {only} known to have everything of {name}: {find if one else 'find a disk of one'}"


def complete_at_hand(partition: Json) -> list[str]:
    """Name the replicas at hand that are known to have everything.

    One that is elected as in sync or eligible is not, where it lacks records of another copy, or the last election was
    unclean: that made it so.
    """
    election = partition["election"]
    if not is_told(partition) or election["is_recovering"]:
        return []
    eligible = {each["replica"] for each in election["together"] if not each["unclean"]}
    return [each["replica"] for each in partition["candidates"] if each["replica"] in eligible and _lacks_nothing(each)]


def _lacks_nothing(candidate: Json) -> bool:
    return candidate["damage"] is None and bool(candidate["lost"]) and not candidate["lost"]["records"]


def behind(partition: Json) -> list[str]:
    """Name replicas that have everything by the metadata and lack acknowledged records: whose log is another by now."""
    election = partition["election"]
    # What is worse tells by itself why a copy lacks what others have, and so does an unclean election.
    if not is_told(partition) or not election["is_complete"] or election["is_recovering"]:
        return []
    if _WORSE & {*partition["verdicts"]}:
        return []
    foreseen = [*election["together"], *(each for order in election["forced"] for each in order["elections"])]
    eligible = {each["replica"] for each in foreseen if each["leader"] in {*election["isr"], *election["elr"]}}
    return [
        each["replica"]
        for each in partition["candidates"]
        if each["replica"] in eligible and each["acknowledged"] and each["acknowledged"]["records"]
    ]


def behind_in_words(partition: Json) -> Iterator[str]:
    """Yield what each of these means.

    >>> [*behind_in_words(partition)]
    ['By the metadata broker-2 has everything, and yet it lacks acknowledged records that are here: its disk is ...']
    """
    for each in behind(partition):
        yield (
            f"By the metadata {each} has everything, and yet it lacks acknowledged records that are here: its disk is "
            "older, or another, than the one that it had, unless an unclean election before cut them off. What it "
            "acknowledged last may then be in no copy here: find its former disk before it starts"
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
