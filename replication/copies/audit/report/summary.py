"""What stands first on the page: whether something is lost, how many partitions are how, and what to do first."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final

from replication.base.json_object import Json
from replication.copies.audit.judgement.elected import candidate_of, is_told, untold_in_words, worst_expected
from replication.copies.audit.judgement.verdict import Verdict
from replication.copies.audit.judgement.verdict_sentence import is_lost_anyway
from replication.copies.audit.judgement.wording import name_of
from replication.copies.audit.report.card import Case
from replication.copies.audit.report.tables import COLOURS, unbroken

MOST_LISTED: Final = 10
"""Partitions that are named at once, and findings that belong to none."""

Cards = Mapping[tuple[str, int], str]


def summary(document: Json, told: Sequence[Case], cards: Cards) -> Iterator[str]:
    """Yield the verdict on everything; `told` are the partitions that need more than a line, the worst first."""
    partitions: Sequence[Json] = document["partitions"]
    critical = [case for case in told if case.is_critical]
    worst = min((Verdict(each["verdict"]) for each in partitions), key=lambda verdict: verdict.rank, default=None)
    errors = any(finding["severity"] in {"critical", "error"} for finding in document["findings"])
    if critical:
        yield from _critical(critical, cards, len(partitions))
    elif worst is None or (worst is Verdict.IDENTICAL and not errors):
        yield '<section class="good"><h2>All copies agree, and no damage was found in what was read</h2></section>'
    else:
        colour = "bad" if errors else COLOURS[worst]
        yield f'<section class="{colour}"><h2>{_HEADLINES[worst]}</h2><p>{_SENTENCES[worst]}</p></section>'
    yield from _tiles(partitions)
    yield from _untold(partitions)
    yield from _news(document.get("history"))
    yield from _of_no_partition(document["findings"])


def _critical(critical: Sequence[Case], cards: Cards, of: int) -> Iterator[str]:
    """Yield first in which partitions acknowledged records are lost, and how many under which leader."""
    count = len(critical)
    yield '<section class="bad critical"><h2>Acknowledged records are lost, or will be</h2>'
    yield f"<p>In {count:,} of {of:,} partitions:</p><ul>"
    for case in critical[:MOST_LISTED]:
        name = escape(name_of(case.partition))
        card = cards.get((case.partition["topic"], case.partition["partition"]))
        link = name if card is None else f'<a href="#{card}">{name}</a>'
        yield f"<li><b>{link}</b>: {unbroken('; '.join(_acknowledged(case.partition)))}</li>"
    yield "</ul>"
    if count > MOST_LISTED:
        yield f"<p>{count - MOST_LISTED:,} more follow below.</p>"
    yield "</section>"


def _acknowledged(partition: Json) -> Iterator[str]:
    """Yield how many acknowledged records are lost under the leader that Kafka elects, and under the best one."""
    if is_lost_anyway(partition):
        yield f"{partition['candidates'][0]['acknowledged']['records']:,} acknowledged records, whichever copy leads"
        return
    worst, least = worst_expected(partition), candidate_of(partition, partition["least_loss"])
    noun = " acknowledged records"
    if worst is not None:
        yield f"{worst['acknowledged']['records']:,}{noun} if {worst['replica']} leads, {_why(partition, worst)}"
        noun = ""
    if least is not None and least is not worst and least["lost"] is not None:
        yield f"{least['acknowledged']['records']:,}{noun} if {least['replica']} leads"


def _why(partition: Json, candidate: Json) -> str:
    """Return why a leader is to be expected."""
    if not is_told(partition):
        return "with the longest log of the latest epoch"
    return f"as Kafka {'elects' if candidate['replica'] == partition['kafkas_choice'] else 'may elect'}"


def _tiles(partitions: Sequence[Json]) -> Iterator[str]:
    counts = Counter(each["verdict"] for each in partitions)
    yield '<ul class="tiles" aria-label="Partitions by verdict">'
    for verdict in Verdict:
        if counts[verdict]:
            yield f'<li class="tile"><b class="{COLOURS[verdict]}">{counts[verdict]:,}</b> {verdict}</li>'
    yield "</ul>"


def _untold(partitions: Sequence[Json]) -> Iterator[str]:
    """Yield why the files do not show whom Kafka elects, and for how many partitions."""
    yield from (f"<p>{escape(text[0].upper())}{escape(text[1:])}.</p>" for text in untold_in_words(partitions))


def _news(history: Json | None) -> Iterator[str]:
    if history is not None:
        new, gone = len(history["new"]), len(history["gone"])
        told = f"{new:,} new and {gone:,} gone" if new or gone else "nothing new"
        yield f'<p><a href="#since">Since the last audit</a>: {told}.</p>'


def _of_no_partition(findings: Sequence[Json]) -> Iterator[str]:
    """Yield what no card shows: errors in files of a whole broker, and partitions that no copy holds."""
    told = [each for each in findings if _is_of_root(each) or each["kind"] == "partition-nowhere"]
    if not told:
        return
    yield "<h2>Besides the partitions that were compared</h2><ul>"
    for each in told[:MOST_LISTED]:
        what = each["file"] if each["topic"] is None else name_of(each)
        yield f"<li><b>{escape(each['replica'])}, {escape(what or each['kind'])}</b>: {escape(each['message'])}.</li>"
    yield "</ul>"
    if len(told) > MOST_LISTED:
        yield f'<p>{len(told) - MOST_LISTED:,} more are in the <a href="#findings">table of findings</a>.</p>'


def _is_of_root(finding: Json) -> bool:
    return finding["topic"] is None and finding["severity"] in {"critical", "error"}


_HEADLINES: Final = {
    Verdict.UNKNOWN: "Not everything could be read",
    Verdict.SILENT_DIVERGENCE: "Copies differ where they must not",
    Verdict.DAMAGED: "Copies are damaged",
    Verdict.FORKED: "Partitions have forked",
    Verdict.MISSING: "Copies are missing",
    Verdict.LAGGING: "No copy contradicts another",
    Verdict.COMPACTION: "No copy contradicts another",
    Verdict.RETENTION: "No copy contradicts another",
    Verdict.IDENTICAL: "All copies agree with each other, but files are damaged",
}
_SENTENCES: Final = {
    Verdict.UNKNOWN: (
        "Some copies could not be read, or changed meanwhile: their contents, and what is lost, are not known."
    ),
    Verdict.SILENT_DIVERGENCE: (
        "Some copies hold different bytes at the same offset and leader epoch. Replication promises that this never "
        "happens, and no truncation repairs it: find out which copy is right before you discard any of them."
    ),
    Verdict.DAMAGED: "Let none of them lead, and rebuild them from sound ones: the cards below say how.",
    Verdict.FORKED: "Two leaders wrote the same offsets: whichever leads, the other branch is truncated.",
    Verdict.MISSING: "Bring them back, or let them catch up again, before others are lost.",
    Verdict.LAGGING: "Some lack the newest records, and fetch them if they do not lead.",
    Verdict.COMPACTION: "Some were compacted further than others.",
    Verdict.RETENTION: "Some start at older offsets than others.",
    Verdict.IDENTICAL: "Files beside the logs have errors: see the findings.",
}
