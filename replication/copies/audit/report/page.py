"""The page of an audit: what is lost, what to do, a card for each partition in trouble, and all findings in a table."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any, Final

from logstore.shown_text import shown
from replication.base.counted import counted
from replication.base.json_object import Json
from replication.copies.audit.judgement.elected import candidate_of, is_told, leaders_in_words, worst_expected
from replication.copies.audit.judgement.wording import live_in_words, name_of, reading_in_words, replica_in_words
from replication.copies.audit.report.card import RULES, Case, card, runbook_list, step_list
from replication.copies.audit.report.commands import BOOTSTRAP, KEEP_STILL, SET_BOOTSTRAP, Step, last_steps, steps
from replication.copies.audit.report.lineage import hatching
from replication.copies.audit.report.page_frame import framed
from replication.copies.audit.report.summary import summary
from replication.copies.audit.report.tables import data_table, plain_table
from replication.copies.audit.runbook.runbook import named_as_planned, planned_start, runbook
from replication.copies.audit.runbook.start_plan import StartPlan

if TYPE_CHECKING:
    from replication.copies.quorum_recovery.quorum_advice import QuorumAdvice

MOST_CARDS: Final = 100
"""Partitions that have a card, the worst first; the table has all."""
OPEN_CARDS: Final = 10
"""Cards of which more is seen than the verdict before they are opened."""

SHARED: Final = (
    '<p class="soft">Made to be passed on: copies have numbers in place of names and directories, hosts and other '
    "paths are left out, and contents of records are masked. Commands are for whoever has the copies.</p>"
)

Cards = Mapping[tuple[str, int], str]
"""The id of the card of each partition that has one."""


def render(document: Json, *, quorum: "QuorumAdvice | None" = None, is_shared: bool = False) -> str:
    """Make the page of an audit, from the object that `epochlog audit --json` prints.

    With the advice on a `quorum` of controllers, what there is to do about them comes first.
    One that is shared says that names and places were taken out of it, which is for the caller to do.
    The page needs nothing beside itself: styles, script, pictures and data are in it. It says of partitions that are
    identical only how many they are.
    """
    document = _shown_throughout(document)
    plan = planned_start(document) if document.get("live") is None else None
    document = document if plan is None else named_as_planned(document, plan)
    cases = sorted(_cases(document), key=lambda case: case.urgency)
    told = [case for case in cases if case.needs_card]
    cards = {_key(case.partition): f"card-{number}" for number, case in enumerate(told[:MOST_CARDS], 1)}
    todo = [[*steps(case.partition, document["snapshots"], case.stranded, case.hanging)] for case in told[:MOST_CARDS]]
    title = f"Audit of {', '.join(each['name'] for each in document['snapshots'])}"
    body = [
        f"<main><h1>{escape(title)}</h1>",
        *_reading(document),
        *([SHARED] if is_shared else []),
        *summary(document, told, cards),
        *_first_steps(document, told, todo, quorum, plan),
        *_cards(told, todo, cards, last_steps(document["snapshots"], is_live=document.get("live") is not None)),
        *_differing(cases, cards),
        *_consumers(document.get("consumer_offsets", ()), cards),
        *_new(document.get("history")),
        *_findings(document["findings"], cards),
        *_snapshots(document["snapshots"]),
        *_metrics(document["metrics"]),
        "</main>",
    ]
    return framed(title, body)


def _shown_throughout(value: Any) -> Any:
    """Make all text of a document fit to be seen, whatever a group or a directory is called."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, Mapping):
        return {name: _shown_throughout(each) for name, each in value.items()}
    return [_shown_throughout(each) for each in value] if isinstance(value, (list, tuple)) else value


def _key(place: Json) -> tuple[str, int]:
    return place["topic"], place["partition"]


def _cases(document: Json) -> Iterator[Case]:
    """Bring together what is known of each partition."""
    findings = _by_partition(document["findings"])
    stranded = _by_partition(document.get("consumer_offsets", ()))
    hanging = _by_partition(document.get("hanging_transactions", ()))
    for partition in document["partitions"]:
        key = _key(partition)
        yield Case(partition, *(tuple(each[key]) for each in (findings, stranded, hanging)))


def _by_partition(found: Sequence[Json]) -> Mapping[tuple[str, int], list[Json]]:
    grouped: defaultdict[tuple[str, int], list[Json]] = defaultdict(list)
    for each in found:
        grouped[_key(each)].append(each)
    return grouped


def _reading(document: Json) -> Iterator[str]:
    partitions = counted(len(document["partitions"]), "partition")
    yield (
        f'<p class="soft">{_minute(document["metrics"]["time"])} · {partitions} · '
        f"{escape(reading_in_words(document['metrics']))}</p>"
    )
    live = document.get("live")
    if live is not None:
        yield f'<p class="soft">Running brokers · {escape(live_in_words(live))}</p>'


def _first_steps(
    document: Json,
    told: Sequence[Case],
    todo: Sequence[Sequence[Step]],
    quorum: "QuorumAdvice | None",
    plan: StartPlan | None,
) -> Iterator[str]:
    is_at_stake = any(case.is_at_stake for case in told)
    planned = [] if plan is None or not is_at_stake else [*runbook(document, BOOTSTRAP, quorum, plan)]
    needs_bootstrap = planned or any(BOOTSTRAP in (step.command or "") for each in todo for step in each)
    first = [*([KEEP_STILL] if is_at_stake else []), *([SET_BOOTSTRAP] if needs_bootstrap else [])]
    if first:
        yield "<h2>What to do first</h2>"
        yield from step_list(first)
    if planned:
        yield "<h2>Then, in this order</h2>"
        yield from runbook_list(planned)


def _cards(told: Sequence[Case], todo: Sequence[Sequence[Step]], cards: Cards, last: Iterable[Step]) -> Iterator[str]:
    if not told:
        return
    yield "<h2>Partition by partition, the worst first</h2>"
    yield hatching()
    for number, (case, each, name) in enumerate(zip(told, todo, cards.values(), strict=False)):
        yield from card(case, each, name, is_open=number < OPEN_CARDS)
    if len(told) > MOST_CARDS:
        more = len(told) - MOST_CARDS
        yield f'<p>{more:,} more partitions, of lower cost, are in <a href="#partitions">the table</a>.</p>'
    yield "<h2>Check again</h2>"
    yield from step_list(last)


def _differing(cases: Sequence[Case], cards: Cards) -> Iterator[str]:
    partitions = [case.partition for case in cases if case.differs]
    yield '<h2 id="partitions-heading">Partitions that differ</h2>'
    if not partitions:
        yield "<p>None.</p>"
        return
    rows = [
        (
            name_of(each),
            each["verdict"],
            ", ".join(each["verdicts"][1:]),
            leaders_in_words(each),
            *(_leader(each, each[rule]) for rule in RULES),
            ", ".join(each["missing"]),
            ", ".join(each["unread"]),
            min((pair["truncate_to"] for pair in each["pairs"] if pair["truncate_to"] is not None), default=None),
            _lost_of(each, worst_expected(each)) if is_told(each) else None,
            *(_lost_of(each, candidate_of(each, each[rule])) for rule in RULES),
        )
        for each in partitions
    ]
    columns = (
        *("partition", "verdict", "also", "Kafka elects", "latest epoch, longest log", "least loss", "missing on"),
        *("not read on", "truncates to, at lowest", "lost as Kafka elects", "lost under the longest log"),
        "lost under the least loss",
    )
    links = [cards.get(_key(each)) for each in partitions]
    yield from data_table(
        "partitions", "Partitions that differ", columns, rows, numbers=(8, 9, 10, 11), link=(0, links)
    )


def _leader(partition: Json, replica: str | None) -> str | None:
    candidate = candidate_of(partition, replica)
    return replica_in_words(candidate) if candidate else None


def _lost_of(partition: Json, candidate: Json | None) -> int | None:
    """Return how many records are lost; None where that is not known, since not every copy was read."""
    return candidate["lost"]["records"] if candidate and candidate["lost"] and not partition["unread"] else None


def _consumers(offsets: Sequence[Json], cards: Cards) -> Iterator[str]:
    if not offsets:
        return
    yield "<h2>Consumers beyond a truncation</h2>"
    yield (
        "<p>These groups have committed offsets that the recommended leader does not have: they would skip what is "
        "written there next, or be reset.</p>"
    )
    columns = ("group", "partition", "committed offset", "cut at", "replica")
    rows = [
        (each["group"], name_of(each), each["committed_offset"], each["truncate_to"], each["replica"])
        for each in offsets
    ]
    links = [cards.get(_key(each)) for each in offsets]
    yield from data_table("consumers", "Consumers beyond a truncation", columns, rows, numbers=(2, 3), link=(1, links))


def _minute(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"


def _new(history: Json | None) -> Iterator[str]:
    """Yield what an earlier run did not find."""
    if history is None:
        return
    yield '<h2 id="since">Since the last audit</h2>'
    rows = [(change, text) for change in ("new", "gone") for text in history[change]]
    if rows:
        yield from data_table("changes", "Since the last audit", ("change", "what"), rows)
    else:
        yield "<p>The same findings and verdicts as before.</p>"
    if history["standing"]:
        standing = [(_minute(each["since"]), each["name"]) for each in history["standing"]]
        yield from data_table("standing", "What there is, and since when", ("since", "what"), standing)


def _findings(findings: Sequence[Json], cards: Cards) -> Iterator[str]:
    yield "<h2>Findings</h2>"
    if not findings:
        yield "<p>None.</p>"
        return
    columns = ("severity", "kind", "replica", "partition", "file", "position", "offset", "what it means")
    rows = [
        (
            each["severity"],
            each["kind"],
            each["replica"],
            name_of(each) if each["topic"] is not None else None,
            each["file"],
            each["position"],
            each["offset"],
            each["message"],
        )
        for each in findings
    ]
    links = [cards.get(_key(each)) for each in findings]
    yield from data_table("findings", "Findings", columns, rows, numbers=(5, 6), link=(3, links))


def _snapshots(snapshots: Sequence[Json]) -> Iterator[str]:
    yield "<h2>What was compared</h2>"
    columns = ("replica", "from", "broker", "cluster", "partitions", "bytes of log")
    rows = [
        (
            each["name"],
            ", ".join(each["roots"]),
            str(each["node_id"]) if each["node_id"] is not None else None,
            each["cluster_id"],
            each["partitions"],
            each["bytes"],
        )
        for each in snapshots
    ]
    yield plain_table("What was compared", columns, rows, numbers=(4, 5))


_TIMES: Final = frozenset({"time", "oldest_read"})
"""Metrics that are times, in seconds since 1970 UTC."""


def _metrics(metrics: Json) -> Iterator[str]:
    yield "<h2>Sizes and timings</h2>"
    rows = [(name.replace("_", " "), value) for name, value in metrics.items() if name not in _TIMES]
    yield plain_table("Sizes and timings", ("what", "how much"), rows, numbers=(1,))
