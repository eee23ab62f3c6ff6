"""What is at stake in one partition, in sentences, from the object that `epochlog audit --json` prints of it."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from replication.base.json_object import Json
from replication.copies.audit.incident.in_short import chosen_leader, in_short
from replication.copies.audit.judgement.committed_records import number_in_words
from replication.copies.audit.judgement.cost import Cost
from replication.copies.audit.judgement.elected import (
    LATEST_AND_LONGEST,
    absent_in_words,
    beginning_empty,
    behind_in_words,
    candidate_of,
    choices_of,
    expected_of,
    is_told,
    kafka_in_words,
    lacks_everybody_eligible,
    why_untold,
)
from replication.copies.audit.judgement.times import moment, stretch
from replication.copies.audit.judgement.verdict import Verdict
from replication.copies.audit.judgement.wording import acknowledged_in_words, name_of, replica_in_words, span_of
from replication.copies.audit.runbook.start_plan import Led

_QUIET: Final = frozenset({Verdict.IDENTICAL, Verdict.RETENTION, Verdict.COMPACTION})


@dataclass(frozen=True, slots=True)
class Stake:
    """One partition of which some choice of a leader loses records, or of which that is not known."""

    partition: str
    topic: str
    number: int
    verdict: str
    acknowledged: int
    """The most acknowledged records of producers that a choice loses."""
    records: int
    """The most records of producers that a choice loses."""
    control_records: int
    """The most control records that a choice loses, such as the markers that end transactions."""
    in_short: str
    """One line: who leads by the runbook and what that loses, and what another leader would."""
    sentences: tuple[str, ...]
    """All that is known of it."""
    cost: Cost | None
    """What is lost by the runbook; None where it lets nobody lead yet."""
    kafkas_choice: str | None
    """Whom Kafka elects once all brokers at hand start together; None where that is not certain, or nobody."""
    expected: tuple[str, ...]
    """Who has to be reckoned with as the leader: whom Kafka may elect, or, where the files do not show that, the copy
    with the latest leader epoch and the longest log."""
    lacks_everybody_eligible: bool
    """Whether no replica that is known to have everything is at hand, although there is one."""
    is_told: bool
    """Whether the files show whom Kafka elects, even if it is nobody."""
    latest_and_longest: str | None
    least_loss: str | None

    @property
    def loses(self) -> bool:
        """Whether some choice loses anything."""
        return bool(self.records or self.control_records)

    def as_json(self) -> dict[str, Any]:
        """Return it as `epochlog incident --json` prints it."""
        said = {**asdict(self), "sentences": list(self.sentences), "expected": list(self.expected)}
        return {**said, "cost": None if self.cost is None else self.cost._asdict()}


def stake_of(partition: Json, led: Led | None = None) -> Stake | None:
    """Return what is at stake; None where copies agree, but for what retention and compaction do.

    `led` is who leads by the runbook, where that decides it.
    """
    if (
        set(partition["verdicts"]) <= _QUIET
        and not beginning_empty(partition)
        and not lacks_everybody_eligible(partition)
    ):
        return None
    lost = [span_of(each["lost"]) for each in choices_of(partition) if each["lost"]]
    acknowledged = [span_of(each["acknowledged"]) for each in choices_of(partition) if each["acknowledged"]]
    chosen = chosen_leader(partition, led)
    return Stake(
        name_of(partition),
        partition["topic"],
        partition["partition"],
        partition["verdict"],
        max((each.of_producers for each in acknowledged), default=0),
        max((each.of_producers for each in lost), default=0),
        max((each.control_records for each in lost), default=0),
        in_short(partition, chosen),
        tuple(_sentences(partition)),
        None if chosen is None else Cost.of(chosen),
        partition["kafkas_choice"],
        tuple(each["replica"] for each in expected_of(partition)),
        lacks_everybody_eligible(partition),
        is_told(partition),
        partition["latest_and_longest"],
        partition["least_loss"],
    )


def _sentences(partition: Json) -> Iterator[str]:
    if partition["unread"]:
        copies = _listed(partition["unread"])
        yield f"The copy of {copies} could not be read whole, or changed meanwhile: what it holds is not counted."
    absent = absent_in_words(partition)
    if absent:
        yield f"{absent[0].upper()}{absent[1:]}."
    yield from (f"{each}." for each in behind_in_words(partition))
    yield from _forks_in_words(partition["forks"])
    if Verdict.SILENT_DIVERGENCE in partition["verdicts"]:
        offset = min((each["first_difference"] for each in _silent(partition)), default=None)
        yield (
            f"From offset {offset} on copies hold different bytes under the same leader epoch, with valid checksums: "
            "no replication repairs that; find out which copy is right before any is discarded."
        )
    if partition["missing"]:
        yield f"No copy was found of {_listed(partition['missing'])}."
    choices = [each for each in choices_of(partition) if each["lost"]]
    if choices:
        yield f"If {'; if '.join(_choice_in_words(each, partition['unread']) for each in choices)}."
    yield from _recommendation(partition)


def _forks_in_words(forks: Sequence[Json]) -> Iterator[str]:
    """Give one sentence for all pairs that parted at one offset under the same two leaders."""
    copies: dict[tuple[int, str, str], tuple[dict[str, None], dict[str, None]]] = {}
    for fork in forks:
        left, right = sorted((_leader_in_words(fork, side), fork[side]) for side in ("left", "right"))
        of_left, of_right = copies.setdefault((fork["offset"], left[0], right[0]), ({}, {}))
        of_left[left[1]] = of_right[right[1]] = None
    for (offset, left_leader, right_leader), (of_left, of_right) in copies.items():
        sides = f"{' and '.join(of_left)} {left_leader} and {' and '.join(of_right)} {right_leader}"
        yield f"Two leaders wrote from offset {offset:,} on: {sides}."


def _leader_in_words(fork: Json, side: str) -> str:
    since = moment(fork[f"{side}_timestamp"])
    return f"under epoch {fork[f'{side}_epoch']}{f' since {since}' if since else ''}"


def _choice_in_words(candidate: Json, unread: list[str]) -> str:
    lost, acknowledged = span_of(candidate["lost"]), candidate["acknowledged"]["records"]
    leads = f"{replica_in_words(candidate)} leads"
    if not lost.records and unread:
        return f"{leads}, what is lost is not known"
    if not lost.records:
        return f"{leads}, nothing that another copy has is lost"
    when = stretch(lost.min_timestamp, lost.max_timestamp)
    is_lost = "is" if lost.records == 1 else "are"
    return (
        f"{leads}, {number_in_words(lost)}{f' of {when}' if when else ''} {is_lost} lost, "
        f"{_known(lost.records, acknowledged, candidate['maybe_acknowledged']['records'])}"
        f"{', and what was not read' if unread else ''}"
    )


def _known(lost: int, acknowledged: int, maybe: int) -> str:
    if maybe or acknowledged < lost:
        return acknowledged_in_words(lost, acknowledged, maybe)
    return f"{'which is' if lost == 1 else 'all of them'} known to be acknowledged"


def _recommendation(partition: Json) -> Iterator[str]:
    expected = expected_of(partition)
    # Under whom least is lost of what was read may be the one that loses all that was not.
    least = None if partition["unread"] else candidate_of(partition, partition["least_loss"])
    if not partition["candidates"]:
        yield "No copy can lead."
        return
    if not is_told(partition):
        yield f"The files do not show whom Kafka elects: {why_untold(partition)}."
        yield from _by_epochs(partition["latest_and_longest"], least)
        return
    kafka = kafka_in_words(partition)
    if least is None:
        yield f"{kafka}; under whom least is lost is not known."
    elif beginning_empty(partition) or any(not _is_as_good(each, least) for each in expected):
        yield f"{kafka}, but least is lost under {least['replica']}: choose before it elects."
    elif expected:
        yield f"{kafka}, and least is lost under it."
    else:
        yield f"{kafka}; least is lost under {least['replica']}."


def _is_as_good(candidate: Json, least: Json) -> bool:
    """Whether no more is lost under a candidate than under the one that is named for the least loss."""
    return candidate is least or bool(candidate["lost"] and least["lost"] and Cost.of(candidate) == Cost.of(least))


def _by_epochs(latest: str, least: Json | None) -> Iterator[str]:
    if least is None:
        yield f"{latest} has {LATEST_AND_LONGEST}; under whom least is lost is not known."
    elif least["replica"] == latest:
        yield f"{latest} has {LATEST_AND_LONGEST}, and least is lost under it."
    else:
        yield f"{latest} has {LATEST_AND_LONGEST}, but least is lost under {least['replica']}: choose before one leads."


def _silent(partition: Json) -> Iterator[Json]:
    for pair in partition["pairs"]:
        if Verdict.SILENT_DIVERGENCE in pair["verdicts"] and pair["first_difference"] is not None:
            yield pair


def _listed(names: list[str]) -> str:
    return ", ".join(name or "a broker that is not known" for name in names)
