"""What is at stake in one partition, in sentences, from the object that `epochlog audit --json` prints of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from replication.audit.judgement.committed_records import number_in_words
from replication.audit.judgement.elected import (
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
from replication.audit.judgement.times import moment, stretch
from replication.audit.judgement.verdict import Verdict
from replication.audit.judgement.wording import acknowledged_in_words, name_of, replica_in_words, span_of

Json = Mapping[str, Any]
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
    sentences: tuple[str, ...]
    kafkas_choice: str | None
    """Whom Kafka elects once all brokers at hand start together; None where that is not certain, or nobody."""
    expected: tuple[str, ...]
    """Who has to be reckoned with as the leader: whom Kafka may elect, or, where the files do not tell that, the copy
    with the latest leader epoch and the longest log."""
    lacks_everybody_eligible: bool
    """Whether no replica that is known to have everything is at hand, although there is one."""
    is_told: bool
    """Whether the files tell whom Kafka elects, even if it is nobody."""
    latest_and_longest: str | None
    least_loss: str | None

    @property
    def has_to_be_chosen(self) -> bool:
        """Whether somebody has to choose the leader, as Kafka may elect another than the one that loses least."""
        if self.least_loss is None or not self.loses:
            return False
        return not self.is_told or any(each != self.least_loss for each in self.expected)

    @property
    def loses(self) -> bool:
        """Whether some choice loses anything."""
        return bool(self.records or self.control_records)

    def as_json(self) -> dict[str, Any]:
        """Return it as `epochlog incident --json` prints it."""
        return {**asdict(self), "sentences": list(self.sentences), "expected": list(self.expected)}


def stake_of(partition: Json) -> Stake | None:
    """Say what is at stake; None where copies agree, but for what retention and compaction do."""
    if (
        set(partition["verdicts"]) <= _QUIET
        and not beginning_empty(partition)
        and not lacks_everybody_eligible(partition)
    ):
        return None
    lost = [span_of(each["lost"]) for each in choices_of(partition) if each["lost"]]
    acknowledged = [span_of(each["acknowledged"]) for each in choices_of(partition) if each["acknowledged"]]
    return Stake(
        name_of(partition),
        partition["topic"],
        partition["partition"],
        partition["verdict"],
        max((each.of_producers for each in acknowledged), default=0),
        max((each.of_producers for each in lost), default=0),
        max((each.control_records for each in lost), default=0),
        tuple(_sentences(partition)),
        partition["kafkas_choice"],
        tuple(each["replica"] for each in expected_of(partition)),
        lacks_everybody_eligible(partition),
        is_told(partition),
        partition["latest_and_longest"],
        partition["least_loss"],
    )


def _sentences(partition: Json) -> Iterator[str]:
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
    if partition["unread"]:
        copies = _listed(partition["unread"])
        yield f"The copy of {copies} could not be read whole, or changed meanwhile: what it holds is not counted."
    choices = [each for each in choices_of(partition) if each["lost"]]
    if choices:
        yield f"If {'; if '.join(map(_choice_in_words, choices))}."
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


def _choice_in_words(candidate: Json) -> str:
    lost, acknowledged = span_of(candidate["lost"]), candidate["acknowledged"]["records"]
    leads = f"{replica_in_words(candidate)} leads"
    if not lost.records:
        return f"{leads}, nothing that another copy has is lost"
    when = stretch(lost.min_timestamp, lost.max_timestamp)
    is_lost = "is" if lost.records == 1 else "are"
    return (
        f"{leads}, {number_in_words(lost)}{f' of {when}' if when else ''} {is_lost} lost, "
        f"{_known(lost.records, acknowledged, candidate['maybe_acknowledged']['records'])}"
    )


def _known(lost: int, acknowledged: int, maybe: int) -> str:
    if maybe:
        return acknowledged_in_words(lost, acknowledged, maybe)
    if lost == 1:
        return f"{'which is' if acknowledged else 'not'} known to be acknowledged"
    known = "all" if acknowledged == lost else f"{acknowledged:,}"
    return f"{known if acknowledged else 'none'} of them known to be acknowledged"


def _recommendation(partition: Json) -> Iterator[str]:
    expected, least = expected_of(partition), candidate_of(partition, partition["least_loss"])
    if not partition["candidates"]:
        yield "No copy can lead."
        return
    if not is_told(partition):
        yield f"The files do not tell whom Kafka elects: {why_untold(partition)}."
        yield from _by_epochs(partition["latest_and_longest"], least)
        return
    kafka = kafka_in_words(partition)
    if least is None:
        yield f"{kafka}; under whom least is lost is not known."
    elif beginning_empty(partition) or any(each is not least for each in expected):
        yield f"{kafka}, but least is lost under {least['replica']}: choose before it elects."
    elif expected:
        yield f"{kafka}, and least is lost under it."
    else:
        yield f"{kafka}; least is lost under {least['replica']}."


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
