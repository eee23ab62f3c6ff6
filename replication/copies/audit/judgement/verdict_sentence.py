"""A partition's verdict as one sentence: what is wrong with its copies, and what each choice of a leader would cost."""

from collections import Counter
from collections.abc import Iterable, Iterator

from logstore.topic_partition import METADATA_TOPIC
from replication.base.json_object import Json
from replication.copies.audit.judgement.elected import (
    LATEST_AND_LONGEST,
    NOT_TOLD,
    absent_in_words,
    beginning_empty,
    candidate_of,
    expected_of,
    is_told,
    kafka_in_words,
)
from replication.copies.audit.judgement.times import moment, stretch
from replication.copies.audit.judgement.verdict import Verdict
from replication.copies.audit.judgement.wording import (
    NOT_CHOSEN,
    acknowledged_in_words,
    known_so_far,
    nothing_in_words,
)


def verdict_in_words(partition: Json) -> str:
    """Return in one sentence what is wrong with the copies of a partition, and what is lost under which leader.

    Takes the object of a partition that `epochlog audit --json` prints. The sentence begins with a capital letter and
    has no full stop.

    >>> verdict_in_words(document["partitions"][0])
    'Leaders of epochs 4 and 5 both wrote from offset 300 on: if broker-2 leads, as Kafka elects, 120 acknowledged
    records, written 2026-11-21 07:55:55 UTC, are lost; if broker-1 leads, 77 acknowledged records, written ...'
    """
    what = ", and ".join(_troubles(partition)) or "no copy contradicts another"
    return f"{what[0].upper()}{what[1:]}: {'; '.join(_choices(partition))}"


def records_in_words(candidate: Json) -> str:
    """Return how many records are lost under a candidate, how many were acknowledged, and when they were written.

    >>> records_in_words(candidate)
    '120 acknowledged records, written 2026-11-21 07:55:55 UTC'
    """
    lost, acknowledged = candidate["lost"], candidate["acknowledged"]["records"]
    count, maybe = lost["records"], candidate["maybe_acknowledged"]["records"]
    noun = "record" if count == 1 else "records"
    is_all = acknowledged == count and not maybe
    number = f"acknowledged {noun}" if is_all else noun
    some = "" if is_all else acknowledged_in_words(count, acknowledged, maybe)
    when = stretch(lost["min_timestamp"], lost["max_timestamp"])
    written = "" if when is None else f"written {when}"
    return ", ".join(part for part in (f"{count:,} {number}", some, written) if part)


def is_lost_anyway(partition: Json) -> bool:
    """Whether the same records are lost under each of several leaders, so that none of them is a better choice."""
    candidates = partition["candidates"]
    spans = [each["lost"] for each in candidates if each["lost"] is not None and each["lost"]["records"]]
    return len(candidates) > 1 and len(spans) == len(candidates) and all(span == spans[0] for span in spans)


def forks_in_words(partition: Json) -> Iterator[str]:
    """Yield for each offset at which copies diverge who has what there, and since when.

    >>> next(forks_in_words(partition))
    'at offset 300 broker-1 has epoch 4, written 2026-11-21 07:55:55 UTC; broker-2 has epoch 5, written ...'
    """
    for offset in sorted({fork["offset"] for fork in partition["forks"]}):
        holders: dict[tuple[int, int | None], set[str]] = {}
        for fork in partition["forks"]:
            for side in ("left", "right") if fork["offset"] == offset else ():
                wrote = fork[f"{side}_epoch"], fork[f"{side}_timestamp"]
                holders.setdefault(wrote, set()).add(fork[side])
        sides = (_side(names, *wrote) for wrote, names in sorted(holders.items(), key=lambda each: each[0][0]))
        yield f"at offset {offset:,} {'; '.join(sides)}"


def _side(replicas: Iterable[str], epoch: int, timestamp: int | None) -> str:
    names = sorted(replicas)
    when = moment(timestamp)
    written = "" if when is None else f", written {when}"
    return f"{listed(names)} {'has' if len(names) == 1 else 'have'} epoch {epoch}{written}"


def listed(names: Iterable[str]) -> str:
    """Join names as a sentence does.

    >>> listed(["broker-1", "broker-2", "broker-3"])
    'broker-1, broker-2 and broker-3'
    """
    *first, last = [*names] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def _troubles(partition: Json) -> Iterator[str]:
    """Name what is wrong, the worst first."""
    verdicts = {Verdict(each) for each in partition["verdicts"]}
    if partition["unread"]:
        yield f"the {_copies_on(partition['unread'])} could not be read whole, or changed meanwhile"
    odd = _odd(partition)
    if odd:
        others = "others" if len(odd) == 1 else "each other"
        verb = "has" if len(odd) == 1 else "have"
        what = f"the {_copies_on(odd)} {verb} different records than {others} under the same offsets and leader epochs"
        offset = _first_silent(partition)
        yield what if offset is None else f"{what}, from offset {offset:,} on"
    doubted = [each["replica"] for each in partition["candidates"] if each["damage"] and each["replica"] not in odd]
    if doubted:
        how = "damaged" if Verdict.DAMAGED in verdicts else "incomplete"
        yield f"the {_copies_on(doubted)} {'is' if len(doubted) == 1 else 'are'} {how}"
    elif Verdict.DAMAGED in verdicts and not odd:
        yield "files of the copies contradict each other"
    if partition["forks"]:
        offset = min(fork["offset"] for fork in partition["forks"])
        epochs = _epochs_at(partition, offset)
        how_many = "both" if len(epochs) == 2 else "all"
        yield f"leaders of epochs {listed(epochs)} {how_many} wrote from offset {offset:,} on"
    elif Verdict.FORKED in verdicts:
        yield "the copies have no leader epoch in common"
    named = [name for name in partition["missing"] if name]
    if named:
        yield f"there is no copy on {listed(named)}"
    elif partition["missing"]:
        yield "a copy is missing, whose is not known"
    if verdicts == {Verdict.LAGGING}:
        yield "some copies only lack the newest records"


def _choices(partition: Json) -> Iterator[str]:
    """Yield what is lost under the leader that Kafka elects, and under the one that loses least."""
    least = candidate_of(partition, partition["least_loss"])
    if partition["unread"]:
        yield "what they held is not known" if len(partition["unread"]) > 1 else "what it held is not known"
    if not partition["candidates"]:
        yield NOT_CHOSEN if partition["topic"] == METADATA_TOPIC else "no copy can lead"
        return
    absent = absent_in_words(partition)
    if absent:
        yield absent
    expected = expected_of(partition)
    if is_lost_anyway(partition):
        yield f"whichever copy leads, {_loss(partition, partition['candidates'][0])}"
        return
    if not is_told(partition) and any(each["lost"] is None or each["lost"]["records"] for each in expected):
        yield NOT_TOLD
    if is_told(partition) and (not expected or beginning_empty(partition)):
        yield kafka_in_words(partition)
    for each in expected:
        yield f"if {each['replica']} leads, {_as_elected(partition, each)}, {_loss(partition, each)}"
    if least is not None and least not in expected:
        yield f"if {least['replica']} leads, {_loss(partition, least)}"


def _as_elected(partition: Json, candidate: Json) -> str:
    """Return why a candidate is named first."""
    if not is_told(partition):
        return f"with {LATEST_AND_LONGEST}"
    return f"as Kafka {'elects' if candidate['replica'] == partition['kafkas_choice'] else 'may elect'}"


def _loss(partition: Json, candidate: Json) -> str:
    if candidate["lost"] is None:
        return "what is lost is not known"
    count = candidate["lost"]["records"]
    if not count:
        return nothing_in_words(partition, candidate)
    records = records_in_words(candidate)
    comma = "," if "," in records else ""
    return f"{records}{comma} {'is' if count == 1 else 'are'} lost{known_so_far(partition)}"


def _copies_on(replicas: Iterable[str]) -> str:
    names = [*replicas]
    return f"{'copy' if len(names) == 1 else 'copies'} on {listed(names)}"


def _epochs_at(partition: Json, offset: int) -> list[str]:
    forks = [fork for fork in partition["forks"] if fork["offset"] == offset]
    return list(map(str, sorted({fork[side] for fork in forks for side in ("left_epoch", "right_epoch")})))


def _silent(partition: Json) -> Iterator[Json]:
    return (pair for pair in partition["pairs"] if Verdict.SILENT_DIVERGENCE in pair["verdicts"])


def _odd(partition: Json) -> list[str]:
    """Name the replicas that differ silently from most others; all that do where none stands out."""
    times = Counter(pair["leader"] for pair in _silent(partition))
    most = max(times.values(), default=0)
    return sorted(replica for replica, count in times.items() if count == most)


def _first_silent(partition: Json) -> int | None:
    """Return the first offset with different records, where no other difference may come before it."""
    others = {Verdict.MISSING, Verdict.COMPACTION}
    return min(
        (pair["first_difference"] for pair in _silent(partition) if others.isdisjoint(pair["verdicts"])), default=None
    )
