"""The page: what was audited, how it stands, a picture of each fork, and all findings in a table."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from typing import Any, Final

from logstore.shown_text import shown
from replication.audit.judgement.verdict import Verdict
from replication.audit.judgement.wording import (
    advice_in_words,
    candidate_of,
    loss_in_words,
    reading_in_words,
    replica_in_words,
)
from replication.audit.report.lineage import draw
from replication.audit.report.policy import policy

MOST_PICTURES: Final = 100
"""Forks drawn on the page, those that cost most first; the table has all."""

COLOURS: Final = {
    Verdict.UNKNOWN: "bad",
    Verdict.SILENT_DIVERGENCE: "bad",
    Verdict.DAMAGED: "bad",
    Verdict.FORKED: "bad",
    Verdict.MISSING: "warn",
    Verdict.LAGGING: "warn",
    Verdict.COMPACTION: "mild",
    Verdict.RETENTION: "mild",
    Verdict.IDENTICAL: "good",
}
SEVERITIES: Final = {"critical": "bad", "error": "bad", "warning": "warn", "info": "mild"}

Json = Mapping[str, Any]


def render(document: Json) -> str:
    """Make the page of an audit, from the object that `epochlog audit --json` prints.

    The page needs nothing beside itself: styles, script, pictures and data are in it. It says of partitions that are
    identical only how many they are.
    """
    document = _shown_throughout(document)
    partitions: Sequence[Json] = document["partitions"]
    style, script = f"\n{_resource('style.css')}", f"\n{_resource('page.js')}"
    title = f"Audit of {', '.join(each['name'] for each in document['snapshots'])}"
    body = [
        f"<h1>{escape(title)}</h1>",
        *_committed(document["findings"]),
        *_summary(document),
        *_choices(partitions),
        *_tiles(partitions),
        *_snapshots(document["snapshots"]),
        *_new(document.get("history")),
        *_forks(partitions),
        *_differing(partitions),
        *_consumers(document.get("consumer_offsets", ())),
        *_findings(document["findings"]),
        *_metrics(document["metrics"]),
    ]
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy(style, script)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<link rel="icon" href="data:,">',
            f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>",
            *body,
            f"<script>{script}</script>\n</body>\n</html>\n",
        ]
    )


def _shown_throughout(value: Any) -> Any:
    """Make all text of a document fit to be seen, whatever a group or a directory is called."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, Mapping):
        return {name: _shown_throughout(each) for name, each in value.items()}
    return [_shown_throughout(each) for each in value] if isinstance(value, (list, tuple)) else value


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _summary(document: Json) -> Iterator[str]:
    partitions, findings = document["partitions"], document["findings"]
    worst = min((Verdict(each["verdict"]) for each in partitions), key=lambda verdict: verdict.rank, default=None)
    when = datetime.fromtimestamp(document["metrics"]["time"], UTC)
    errors = sum(finding["severity"] in {"critical", "error"} for finding in findings)
    yield (
        f'<p class="soft">{when:%Y-%m-%d %H:%M} UTC · {len(partitions):,} partitions · '
        f"{escape(reading_in_words(document['metrics']))}</p>"
    )
    if worst is None or (worst is Verdict.IDENTICAL and not errors):
        yield '<p class="good">All copies agree, and no damage was found in what was read.</p>'
    else:
        yield f"<p>{_SENTENCES[worst]}</p>"


def _committed(findings: Sequence[Json]) -> Iterator[str]:
    """Say before all else that acknowledged records are lost."""
    critical = [finding for finding in findings if finding["severity"] == "critical"]
    if not critical:
        return
    yield '<section class="critical"><h2>Acknowledged records are lost, or will be</h2><ul>'
    for finding in critical[:MOST_PICTURES]:
        yield f"<li><b>{escape(_name(finding))}</b> on {escape(finding['replica'])}: {escape(finding['message'])}.</li>"
    yield "</ul>"
    if len(critical) > MOST_PICTURES:
        yield f"<p>{len(critical) - MOST_PICTURES:,} more are in the table of findings below.</p>"
    yield "</section>"


def _choices(partitions: Sequence[Json]) -> Iterator[str]:
    """Name the partitions of which Kafka would elect a different leader than the one that loses least."""
    differing = [each for each in partitions if each["choices_differ"]]
    if not differing:
        return
    yield "<h2>Kafka would elect a different leader than the one that loses least</h2><ul>"
    for partition in differing[:MOST_PICTURES]:
        yield f"<li>{escape(advice_in_words(partition))}.</li>"
    yield "</ul>"
    if len(differing) > MOST_PICTURES:
        yield f"<p>{len(differing) - MOST_PICTURES:,} more are in the table of partitions below.</p>"


def _tiles(partitions: Sequence[Json]) -> Iterator[str]:
    counts = Counter(each["verdict"] for each in partitions)
    yield '<div class="tiles">'
    for verdict in Verdict:
        if counts[verdict]:
            yield f'<div class="tile"><b class="{COLOURS[verdict]}">{counts[verdict]:,}</b>{verdict}</div>'
    yield "</div>"


def _snapshots(snapshots: Sequence[Json]) -> Iterator[str]:
    yield "<h2>Snapshots</h2>"
    columns = ("replica", "from", "broker", "cluster", "partitions", "bytes of log")
    rows = [
        (
            each["name"],
            ", ".join(each["roots"]),
            each["node_id"],
            each["cluster_id"],
            each["partitions"],
            each["bytes"],
        )
        for each in snapshots
    ]
    yield from _table("snapshots", columns, rows, numbers=(4, 5))


def _new(history: Json | None) -> Iterator[str]:
    """Say what an earlier run did not see."""
    if history is None:
        return
    yield "<h2>Since the last audit</h2>"
    rows = [(change, text) for change in ("new", "gone") for text in history[change]]
    if not rows:
        yield "<p>The same findings and verdicts as before.</p>"
        return
    yield from _table("changes", ("change", "what"), rows)


def _forks(partitions: Sequence[Json]) -> Iterator[str]:
    forked = sorted((each for each in partitions if each["forks"]), key=_cost, reverse=True)
    if not forked:
        return
    yield "<h2>Forked partitions</h2>"
    yield (
        "<p>Each bar is one replica's log, each colour one leader epoch; different colours at the same offset mean "
        "different records. The hatched part is what the replica truncates under the leader that loses the fewest "
        "records. "
        "The triangle is the high watermark.</p>"
    )
    yield (
        '<svg class="pattern" width="0" height="0" aria-hidden="true"><defs><pattern id="hatch" width="7" height="7" '
        'patternUnits="userSpaceOnUse"><path d="M0 7L7 0"/></pattern></defs></svg>'
    )
    for partition in forked[:MOST_PICTURES]:
        yield from _fork(partition)
    if len(forked) > MOST_PICTURES:
        yield f"<p>{len(forked) - MOST_PICTURES:,} more forked partitions, of lower cost, are in the table below.</p>"


def _fork(partition: Json) -> Iterator[str]:
    yield f'<section class="fork"><h3>{escape(_name(partition))}</h3>'
    for fork in partition["forks"]:
        yield (
            f"<p>{escape(fork['left'])} and {escape(fork['right'])} diverge at offset {fork['offset']:,}: epoch "
            f"{fork['left_epoch']} on {escape(fork['left'])}, {fork['right_epoch']} on {escape(fork['right'])}.</p>"
        )
    yield draw(partition)
    yield f"<p>{escape(advice_in_words(partition))}.</p>"
    leaders = [(replica_in_words(each), loss_in_words(partition, each)) for each in partition["candidates"]]
    yield _plain_table(("if this leads", "what all replicas lose together"), leaders, numbers=())
    columns = ("if this leads", "this follows", "relation", "truncates to", "records truncated", "bytes truncated")
    rows = [
        (
            pair["leader"] + _note(partition, pair["leader"]),
            pair["follower"],
            pair["relation"],
            pair["truncate_to"],
            pair["records_lost"],
            pair["bytes_lost"],
        )
        for pair in partition["pairs"]
    ]
    yield _plain_table(columns, rows, numbers=(3, 4, 5))
    yield "</section>"


def _note(partition: Json, replica: str) -> str:
    """Say by which rule a replica should lead, and that it is damaged."""
    rules = [text for rule, text in _RULES.items() if partition[rule] == replica]
    candidate = candidate_of(partition, replica)
    notes = [*rules, *(["not to be trusted"] if candidate and candidate["damage"] else [])]
    return f" ({', '.join(notes)})" if notes else ""


def _differing(partitions: Sequence[Json]) -> Iterator[str]:
    rows = [
        (
            _name(each),
            each["verdict"],
            ", ".join(each["verdicts"][1:]),
            *(_leader(each, each[rule]) for rule in _RULES),
            ", ".join(each["missing"]),
            ", ".join(each["unread"]),
            min((pair["truncate_to"] for pair in each["pairs"] if pair["truncate_to"] is not None), default=None),
            *(_lost(each, each[rule]) for rule in _RULES),
        )
        for each in partitions
        if each["verdict"] != Verdict.IDENTICAL
    ]
    yield "<h2>Partitions that differ</h2>"
    if not rows:
        yield "<p>None.</p>"
        return
    columns = (
        *("partition", "verdict", "also", "Kafka's choice", "least loss", "missing on", "not read on"),
        *("truncates to, at lowest", "records lost under Kafka's choice", "under the least loss"),
    )
    yield from _table("partitions", columns, rows, numbers=(7, 8, 9))


def _leader(partition: Json, replica: str | None) -> str | None:
    candidate = candidate_of(partition, replica)
    return replica_in_words(candidate) if candidate else None


def _lost(partition: Json, replica: str | None) -> int | None:
    """Return how many records are lost; None where that is not known, since not every copy was read."""
    candidate = candidate_of(partition, replica)
    return candidate["lost"]["records"] if candidate and candidate["lost"] and not partition["unread"] else None


def _consumers(offsets: Sequence[Json]) -> Iterator[str]:
    if not offsets:
        return
    yield "<h2>Consumers beyond a truncation</h2>"
    yield (
        "<p>These groups have committed offsets that the recommended leader does not have: they would skip what is "
        "written there next, or be reset.</p>"
    )
    columns = ("group", "partition", "committed offset", "cut at", "replica")
    rows = [
        (each["group"], _name(each), each["committed_offset"], each["truncate_to"], each["replica"]) for each in offsets
    ]
    yield from _table("consumers", columns, rows, numbers=(2, 3))


def _findings(findings: Sequence[Json]) -> Iterator[str]:
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
            _name(each) if each["topic"] is not None else None,
            each["file"],
            each["position"],
            each["offset"],
            each["message"],
        )
        for each in findings
    ]
    yield from _table("findings", columns, rows, numbers=(5, 6))


_TIMES: Final = frozenset({"time", "oldest_read"})
"""Metrics that are times, in seconds since 1970 UTC."""


def _metrics(metrics: Json) -> Iterator[str]:
    yield "<h2>Sizes and timings</h2>"
    rows = [(name.replace("_", " "), value) for name, value in metrics.items() if name not in _TIMES]
    yield _plain_table(("", ""), rows, numbers=(1,))


def _table(
    name: str, columns: Sequence[str], rows: Sequence[Sequence[object]], numbers: Sequence[int] = ()
) -> Iterator[str]:
    """Yield a table that the script draws, sorts and searches, for it may be long."""
    colours = {**{verdict.value: colour for verdict, colour in COLOURS.items()}, **SEVERITIES}
    data = {"columns": columns, "rows": rows, "numbers": numbers, "colours": colours}
    yield f'<script type="application/json" id="{name}-data">{_for_script(data)}</script>'
    yield f'<div id="{name}" data-table="{name}-data"></div>'


def _for_script(data: object) -> str:
    """Keep whatever a file was called from ending the script element."""
    return json.dumps(data, ensure_ascii=True).replace("<", "\\u003c")


def _plain_table(columns: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[int]) -> str:
    def cell(tag: str, number: int, value: object) -> str:
        text = f"{value:,}" if isinstance(value, (int, float)) else "" if value is None else escape(str(value))
        return f'<{tag} class="number">{text}</{tag}>' if number in numbers else f"<{tag}>{text}</{tag}>"

    head = "".join(cell("th", number, column) for number, column in enumerate(columns))
    lines = ("".join(cell("td", number, value) for number, value in enumerate(row)) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cost(partition: Json) -> int:
    """Return the most records that a follower would lose."""
    return max((pair["records_lost"] or 0 for pair in partition["pairs"]), default=0)


def _name(place: Json) -> str:
    return f"{place['topic']}-{place['partition']}"


_RULES: Final = {"kafkas_choice": "Kafka's choice", "least_loss": "least loss"}
"""The rules by which a leader is chosen, as keys of a partition."""
_SENTENCES: Final = {
    Verdict.UNKNOWN: (
        "Some copies could not be read, or changed meanwhile: their contents, and what is lost, are not known."
    ),
    Verdict.SILENT_DIVERGENCE: (
        "Some copies hold different bytes at the same offset and leader epoch. Replication promises that this never "
        "happens, and no truncation repairs it: find out which copy is right before you discard any of them."
    ),
    Verdict.DAMAGED: "Some copies are damaged: see the findings, and take what is lost from another replica.",
    Verdict.FORKED: "Some partitions have forked: two leaders wrote the same offsets; one branch will be truncated.",
    Verdict.MISSING: "Some copies, or parts of them, are missing.",
    Verdict.LAGGING: "No copy contradicts another; some lack the newest records, and fetch them if they do not lead.",
    Verdict.COMPACTION: "No copy contradicts another; some were compacted further than others.",
    Verdict.RETENTION: "No copy contradicts another; some start at older offsets than others.",
    Verdict.IDENTICAL: "All copies agree with each other, but files beside the logs have errors: see the findings.",
}
