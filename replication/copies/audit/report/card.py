"""The card of a partition: the verdict, what each leader would cost, who has what, what to do, and what is damaged."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from replication.base.counted import counted
from replication.base.json_object import Json
from replication.base.next_step import Step as PlannedStep
from replication.copies.audit.coordinators.hanging_transactions import HANGING_TRANSACTION
from replication.copies.audit.judgement.committed_records import place_in_words
from replication.copies.audit.judgement.cost import Cost
from replication.copies.audit.judgement.elected import choices_of
from replication.copies.audit.judgement.verdict import Verdict
from replication.copies.audit.judgement.verdict_sentence import forks_in_words, verdict_in_words
from replication.copies.audit.judgement.wording import known_so_far, name_of, nothing_in_words, span_of
from replication.copies.audit.report.commands import Step
from replication.copies.audit.report.lineage import Mark, draw
from replication.copies.audit.report.tables import badge, unbroken

MOST_FINDINGS: Final = 10
"""How many findings one card shows, the worst first; the table has all."""
MOST_MARKS: Final = 50
"""Drawn in one picture."""
RULES: Final = {"latest_and_longest": "latest epoch, longest log", "least_loss": "least loss"}
"""The rules by which copies compare as leaders, as keys of a partition."""
_SEVERITIES: Final = frozenset({"error", "warning"})
"""Of the findings that a card shows: what is critical stands with each leader."""
_IN_STEPS: Final = frozenset({"consumer-offset-beyond-truncation", HANGING_TRANSACTION})
"""The kinds of findings that the commands name."""
_CARDS: Final = frozenset(
    {Verdict.UNKNOWN, Verdict.SILENT_DIVERGENCE, Verdict.DAMAGED, Verdict.FORKED, Verdict.MISSING}
)
"""Verdicts that something has to be done about."""


@dataclass(frozen=True, slots=True)
class Case:
    """All that is known of one partition."""

    partition: Json
    findings: tuple[Json, ...]
    """Of the partition, the worst first."""
    stranded: tuple[Json, ...]
    """Committed offsets beyond a truncation."""
    hanging: tuple[Json, ...] = ()
    """Transactions that nobody will end."""

    @property
    def is_critical(self) -> bool:
        """Whether acknowledged records are lost, or will be."""
        return any(finding["severity"] == "critical" for finding in self.findings)

    @property
    def differs(self) -> bool:
        """Whether the copies are not all the same: what the table of partitions lists."""
        return bool(self.partition["verdict"] != Verdict.IDENTICAL)

    @property
    def is_at_stake(self) -> bool:
        """Whether some choice of a leader loses records, or may."""
        return any(each["lost"] is None or each["lost"]["records"] for each in choices_of(self.partition))

    @property
    def needs_card(self) -> bool:
        """Whether there is more to say than that the copies agree, or come to agree by themselves."""
        serious = any(finding["severity"] in {"critical", "error"} for finding in self.findings)
        told = serious or self.partition["choices_differ"] or bool(self.hanging)
        return told or not _CARDS.isdisjoint(self.partition["verdicts"])

    @property
    def urgency(self) -> tuple[bool, int, int, int, str, int]:
        """Sorts the worst first: what was acknowledged and is lost, then by verdict, then by how much is lost."""
        partition = self.partition
        spans = [each for each in choices_of(partition) if each["lost"] is not None]
        return (
            not self.is_critical,
            Verdict(partition["verdict"]).rank,
            -max((each["acknowledged"]["records"] for each in spans), default=0),
            -max((each["lost"]["records"] for each in spans), default=0),
            partition["topic"],
            partition["partition"],
        )


def card(case: Case, todo: Sequence[Step], name: str, *, is_open: bool) -> Iterator[str]:
    """Yield the card of a partition; `name` is its id on the page. Only the verdict is seen of one that is not open."""
    partition = case.partition
    badges = " ".join(map(badge, partition["verdicts"]))
    yield f'<section class="card" id="{name}" tabindex="-1" aria-labelledby="{name}-name">'
    yield f'<h3 id="{name}-name">{escape(name_of(partition))} {badges}</h3>'
    yield f'<p class="verdict">{unbroken(verdict_in_words(partition))}.</p>'
    yield f"<details{' open' if is_open else ''}><summary>Losses, picture, what to do</summary>"
    yield from _choices(partition)
    yield from _forks(partition)
    if partition["branches"]:
        yield draw(partition, _marks(case.findings))
    if todo:
        yield "<h4>What to do</h4>"
        yield from step_list(todo)
    yield from _findings(case.findings)
    yield "</details>"
    if case.differs:
        yield f'<p class="back"><a href="#partitions" data-card="{name}">↑ its row in the table</a></p>'
    yield "</section>"


def step_list(todo: Iterable[Step]) -> Iterator[str]:
    """Yield steps as a list; the script puts a button to copy it beside each command."""
    yield '<ol class="steps">'
    for step in todo:
        command = "" if step.command is None else _run(step.command)
        yield f"<li>{unbroken(step.text)}{command}</li>"
    yield "</ol>"


def runbook_list(planned: Iterable[PlannedStep]) -> Iterator[str]:
    """Yield the steps of a runbook, each with all its commands, what it loses, and how to check it."""
    yield '<ol class="steps">'
    for step in planned:
        yield f"<li>{unbroken(step.what)}."
        yield from map(_run, step.commands)
        for title, text in step.told():
            yield f"<p><b>{title}:</b> {unbroken(text)}.</p>"
        yield from map(_run, step.check_commands)
        yield "</li>"
    yield "</ol>"


def _run(command: str) -> str:
    return f'<div class="run"><pre><code>{unbroken(command)}</code></pre></div>'


def _choices(partition: Json) -> Iterator[str]:
    """Yield what each leader would cost, the least first."""
    if not partition["candidates"]:
        return
    yield '<h4>What each leader would cost</h4><ul class="choices">'
    for candidate in sorted(choices_of(partition), key=_place):
        yield from _choice(partition, candidate)
    yield "</ul>"


def _place(candidate: Json) -> tuple[bool, Cost]:
    """Put those whose losses are not known last."""
    is_unknown = candidate["lost"] is None
    return is_unknown, Cost() if is_unknown else Cost.of(candidate)


def _choice(partition: Json, candidate: Json) -> Iterator[str]:
    replica = candidate["replica"]
    kafkas = replica in {each["replica"] for each in partition["election"]["together"]}
    is_certain = partition["kafkas_choice"] == replica
    tags = [
        *(["Kafka's choice" if is_certain else "Kafka may elect it"] if kafkas else []),
        *(text for rule, text in RULES.items() if partition[rule] == replica),
    ]
    shown_tags = " ".join(f'<span class="badge mild">{tag}</span>' for tag in tags)
    yield f'<li><p class="leader">If <b>{escape(replica)}</b> leads {shown_tags}</p>'
    yield from _lost(partition, candidate)
    if candidate["damage"]:
        yield f'<p class="bad">Not to be trusted: {escape(candidate["damage"])}.</p>'
    followers = [pair for pair in partition["pairs"] if pair["leader"] == replica]
    if followers:
        yield '<ul class="followers">'
        yield from (f"<li>{escape(_follower(pair))}</li>" for pair in followers)
        yield "</ul>"
    yield "</li>"


def _lost(partition: Json, candidate: Json) -> Iterator[str]:
    if candidate["lost"] is None:
        yield "<p>What is lost is not known.</p>"
        return
    lost, acknowledged = span_of(candidate["lost"]), span_of(candidate["acknowledged"])
    if not lost.records:
        text = nothing_in_words(partition, candidate)
        yield f"<p>{escape(text[0].upper() + text[1:])}.</p>"
        return
    noun = "record" if lost.records == 1 else "records"
    by_all = {"acknowledged": acknowledged.records, "perhaps": span_of(candidate["maybe_acknowledged"]).records}
    counts = {**by_all, "with acks=1, if at all": lost.records - sum(by_all.values())}
    told = " and ".join(f"<b>{count:,}</b> {how}" for how, count in counts.items() if count > 0)
    yield f'<p class="loss"><b>{lost.records:,}</b> {noun} lost, {told}</p>'
    text = place_in_words(lost)
    yield f"<p>{escape(text[0].upper() + text[1:])}{escape(known_so_far(partition))}.</p>"


def _follower(pair: Json) -> str:
    follower = pair["follower"]
    if pair["truncate_to"] is None:
        return f"{follower} truncates to where is not known: no file has its high watermark"
    if not pair["records_lost"]:
        return f"{follower} truncates nothing"
    return (
        f"{follower} truncates to {pair['truncate_to']:,}: {counted(pair['records_lost'], 'record')}, "
        f"{counted(pair['bytes_lost'], 'byte')}"
    )


def _forks(partition: Json) -> Iterator[str]:
    told = [*forks_in_words(partition)]
    if told:
        yield "<h4>Where the copies diverge</h4><ul>"
        yield from (f"<li>{escape(text[0].upper() + text[1:])}.</li>" for text in told)
        yield "</ul>"


def _marks(findings: Sequence[Json]) -> list[Mark]:
    marks = [
        Mark(each["replica"], each["offset"], f"{each['kind']} at offset {each['offset']:,}")
        for each in findings
        if each["severity"] == "error" and each["offset"] is not None
    ]
    return list({(mark.replica, mark.offset): mark for mark in marks}.values())[:MOST_MARKS]


def _findings(findings: Sequence[Json]) -> Iterator[str]:
    told = [each for each in findings if each["severity"] in _SEVERITIES and each["kind"] not in _IN_STEPS]
    if not told:
        return
    yield '<h4>What was found</h4><ul class="found">'
    for each in told[:MOST_FINDINGS]:
        place = ", ".join(part for part in (each["replica"], each["file"], _position(each)) if part)
        yield (
            f"<li><b>{escape(each['severity'])}: {escape(each['kind'])}</b> ({escape(place)}): "
            f"{unbroken(each['message'])}.</li>"
        )
    yield "</ul>"
    if len(told) > MOST_FINDINGS:
        yield f'<p>{len(told) - MOST_FINDINGS:,} more are in the <a href="#findings">table of findings</a>.</p>'


def _position(finding: Json) -> str:
    return "" if finding["position"] is None else f"byte {finding['position']:,}"
