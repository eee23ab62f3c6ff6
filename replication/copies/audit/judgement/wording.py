"""What a partition's verdict says about its leader, in words: the same in `advise`, in `audit` and on the page.

All take the object of a partition that `epochlog audit --json` prints.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from logstore.topic_partition import METADATA_TOPIC
from replication.base.counted import counted
from replication.base.json_object import Json
from replication.copies.audit.comparison.record_tally import RecordSpan
from replication.copies.audit.judgement.committed_records import in_words
from replication.copies.audit.judgement.elected import (
    LATEST_AND_LONGEST,
    absent_in_words,
    candidate_of,
    expected_of,
    is_told,
    kafka_in_words,
    lacks_everybody_eligible,
)
from replication.copies.audit.judgement.verdict import Verdict

UNTRUSTED: Final = {Verdict.DAMAGED, Verdict.MISSING, Verdict.SILENT_DIVERGENCE}
"""Verdicts of copies of which not everything could be read, or is what it should be."""

NOT_CHOSEN: Final = "its leader is not chosen; `epochlog advise` says from which copy to restore controllers"
"""Of the controllers' metadata."""
MOST_NAMES: Final = 5
"""Partitions that are named in a sentence."""


def name_of(partition: Json) -> str:
    """Return the partition's name."""
    return f"{partition['topic']}-{partition['partition']}"


def some(names: Sequence[str]) -> str:
    """List the first few names, and how many more there are: a file or the document has all."""
    shown = ", ".join(names[:MOST_NAMES])
    return f"{shown} and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else shown


def open_in_leader(partition: Json) -> int:
    """Return how many transactions are open in the copy that should lead."""
    of_leader = (each for each in partition["branches"] if each["replica"] == partition["recommended"])
    return sum(len(each["open_transactions"]) for each in of_leader)


def advice_in_words(partition: Json) -> str:
    """Return who should lead and what that loses: first that the choices differ, and for a damaged copy that it is."""
    return f"{name_of(partition)}: {''.join(_advice(partition))}"


def loss_in_words(partition: Json, candidate: Json | None) -> str:
    """Return what is lost under a candidate."""
    if partition["topic"] == METADATA_TOPIC:
        return NOT_CHOSEN
    if candidate is None or candidate["lost"] is None:
        return "not known"
    lost, acknowledged = span_of(candidate["lost"]), span_of(candidate["acknowledged"])
    if lost.records:
        maybe = span_of(candidate["maybe_acknowledged"])
        told = acknowledged_in_words(lost.records, acknowledged.records, maybe.records)
        return f"{in_words(lost)} lost, {told}{known_so_far(partition)}"
    if Verdict.UNKNOWN in partition["verdicts"]:
        return "not known: not every copy was read"
    return nothing_in_words(partition, candidate)


def acknowledged_in_words(lost: int, acknowledged: int, maybe: int) -> str:
    """Return how many of the lost records were acknowledged, at least and at most: what is unknown is never 0.

    Those of which it is known that not all in sync had them were so with acks=1 alone.

    >>> acknowledged_in_words(120, 70, 50)
    'at least 70 of them acknowledged, at most 120'
    >>> acknowledged_in_words(120, 70, 0)
    '70 of them acknowledged, the other 50 with acks=1, if at all'
    """
    at_most = min(lost, acknowledged + maybe)
    if not at_most:
        return "acknowledged with acks=1, if at all"
    others = f", the other {lost - at_most:,} with acks=1, if at all" if at_most < lost else ""
    if not maybe:
        return f"{acknowledged:,} of them acknowledged{others}"
    if acknowledged:
        return f"at least {acknowledged:,} of them acknowledged, at most {at_most:,}{others}"
    if others:
        return f"at most {at_most:,} of them acknowledged{others}"
    return f"whether {'it was' if lost == 1 else 'they were'} acknowledged is not known"


def nothing_in_words(partition: Json, candidate: Json) -> str:
    """Return how certain it is that a candidate without known losses loses nothing."""
    below = " except what lies below the start of its log" if _starts_later(partition, candidate["replica"]) else ""
    if lacks_everybody_eligible(partition):
        return f"no loss was found{below} among the copies at hand; what others hold beyond them is not known"
    if Verdict.UNKNOWN in partition["verdicts"]:
        return f"no loss was found{below} among the copies that were read"
    if not UNTRUSTED.isdisjoint(partition["verdicts"]) or candidate["damage"]:
        return f"no loss was found{below}; what {_doubtful(partition, candidate)} held is not known"
    return f"nothing is lost{below}"


def known_so_far(partition: Json) -> str:
    """Return for which copies it is unknown what was acknowledged, and why."""
    unread = [each["replica"] for each in partition["branches"] if each["high_watermark_unread"]]
    unknown = [
        each["replica"]
        for each in partition["branches"]
        if each["high_watermark"] is None and each["replica"] not in unread
    ]
    why = [f"no file has the high watermark of {', '.join(unknown)}"] if unknown else []
    why += [f"the file with the high watermark of {', '.join(unread)} could not be read"] if unread else []
    return f" as far as is known ({'; '.join(why)})" if why else ""


def replica_in_words(candidate: Json) -> str:
    """Name a candidate, never without its damage."""
    damage = f" (not to be trusted: {candidate['damage']})" if candidate["damage"] else ""
    return f"{candidate['replica']}{damage}"


def span_of(span: Json) -> RecordSpan:
    """Decode what was printed as JSON."""
    return RecordSpan(**{**span, "epochs": tuple(span["epochs"])})


def reading_in_words(metrics: Json) -> str:
    """Return how much of the logs was read when: an audit with a history does not read everything again."""
    size, read = metrics["bytes"], metrics["bytes_read"]
    if read == size:
        return f"{counted(size, 'byte')} of log read in {metrics['seconds']:.1f} s"
    oldest = datetime.fromtimestamp(metrics["oldest_read"], UTC)
    return (
        f"{read:,} of {counted(size, 'byte')} of log read in {metrics['seconds']:.1f} s; the others are in closed "
        f"segments that have not changed since earlier audits read them, the first at {oldest:%Y-%m-%d %H:%M} UTC"
    )


def longest_in_words(standing: Sequence[Json]) -> str:
    """Return how many verdicts and findings there are, by an audit's history, and which is there longest.

    >>> longest_in_words([{"name": "orders-0: forked", "since": 0.0}])
    '1 verdict or finding now; there longest, since 1970-01-01 00:00 UTC: orders-0: forked'
    """
    first = standing[0]
    when = datetime.fromtimestamp(first["since"], UTC)
    count = counted(len(standing), "verdict or finding", "verdicts and findings")
    return f"{count} now; there longest, since {when:%Y-%m-%d %H:%M} UTC: {first['name']}"


def live_in_words(live: Json) -> str:
    """Return how an audit of running brokers went: what was read again, and what is unknown all the same.

    >>> live_in_words({"passes": 1, "read_again": [], "gone": []})
    '1 pass: all stood still'
    """
    again = sum(each["reads"] > 1 for each in live["read_again"])
    unknown = sum(bool(each["moved"]) for each in live["read_again"])
    gone = len(live["gone"])
    told = [f"{counted(again, 'partition')} read again"] if again else []
    told += [f"{counted(unknown, 'partition')} unknown as still moving"] if unknown else []
    told += [f"{counted(gone, 'partition')} deleted meanwhile"] if gone else []
    passes = f"{counted(live['passes'], 'pass', 'passes')}: {', '.join(told) or 'all stood still'}"
    return f"{passes}; {UNSEEN}" if live.get("bootstrap") else passes


UNSEEN = (
    "what was read over the network ends at the high watermark: later records, indexes, checkpoints and other files "
    "were not seen"
)
"""What an audit over the network leaves open."""


def _advice(partition: Json) -> Iterator[str]:
    if partition["unread"]:
        copies = ", ".join(partition["unread"])
        yield f"unknown, since the copy of {copies} could not be read whole or changed meanwhile; among what was read, "
    if partition["topic"] == METADATA_TOPIC:
        yield NOT_CHOSEN
    elif not partition["candidates"]:
        yield "no copy can lead"
    else:
        absent = absent_in_words(partition)
        yield f"{absent}; " if absent else ""
        yield _choices(partition)


def _choices(partition: Json) -> str:
    """Return which leader is to be expected, what is lost under it, and under which least is lost."""
    expected, least = expected_of(partition), candidate_of(partition, partition["least_loss"])
    kafka = kafka_in_words(partition)
    if partition["unread"]:
        latest = None if is_told(partition) else candidate_of(partition, partition["latest_and_longest"])
        longest = "" if latest is None else f"; {_elected(latest)} has {LATEST_AND_LONGEST}"
        return f"{kafka}{longest}; what is lost, and under whom least is, is not known"
    if least is None:
        return f"{kafka}; what is lost is not known"
    if len(expected) != 1:
        under = [f"under {_elected(each)} {loss_in_words(partition, each)}" for each in expected]
        return "; ".join([kafka, *under, f"least is lost under {_elected(least)}: {loss_in_words(partition, least)}"])
    (leader,) = expected
    loss = loss_in_words(partition, leader)
    if leader is least:
        if is_told(partition):
            return f"{kafka}, and least is lost under it, {_elected(leader)}: {loss}"
        return f"{kafka}; {_elected(leader)} has {LATEST_AND_LONGEST}, and least is lost under it: {loss}"
    under_least = f"least is lost under {_elected(least)}: {loss_in_words(partition, least)}"
    if is_told(partition):
        return f"the choices differ: {kafka}: under {_elected(leader)} {loss}; {under_least}"
    return f"{kafka}; {_elected(leader)} has {LATEST_AND_LONGEST}: {loss}; {under_least}"


def _doubtful(partition: Json, candidate: Json) -> str:
    """Name what may have held more than was seen."""
    if candidate["damage"] or UNTRUSTED.intersection(partition["verdicts"]) != {Verdict.MISSING}:
        return "the damaged or differing parts"
    return {0: "the missing parts", 1: "the missing copy"}.get(len(partition["missing"]), "the missing copies")


def _elected(candidate: Json) -> str:
    place = f"leader epoch {candidate['last_epoch']}, end offset {candidate['log_end_offset']:,}"
    return f"{replica_in_words(candidate)} ({place})"


def _starts_later(partition: Json, replica: str) -> bool:
    starts = {branch["replica"]: branch["log_start_offset"] for branch in partition["branches"]}
    return bool(starts) and starts.get(replica, 0) > min(starts.values())
