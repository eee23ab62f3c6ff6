"""The page of trends: what the audits of one cluster found, run by run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Final

from logstore.shown_text import shown
from replication.copies.audit.judgement.run import NOTE, Changes, Run
from replication.copies.audit.judgement.verdict import Verdict
from replication.copies.audit.report.page_frame import framed
from replication.copies.audit.report.tables import plain_table

MOST_CHANGES: Final = 50
WIDTH, HEIGHT = 1000, 90
"""Of a chart, in its own units."""


@dataclass(frozen=True, slots=True)
class Trend:
    """Verdicts of partitions that are counted together."""

    name: str
    verdicts: frozenset[Verdict]
    colour: str

    def count(self, run: Run) -> int:
        """Count the partitions of a run with one of the verdicts."""
        return sum(verdict in self.verdicts for verdict in run.verdicts.values())


TRENDS: Final = (
    Trend("diverged", frozenset({Verdict.SILENT_DIVERGENCE, Verdict.FORKED}), "bad"),
    Trend("damaged or missing", frozenset({Verdict.DAMAGED, Verdict.MISSING}), "bad"),
    Trend("not known", frozenset({Verdict.UNKNOWN}), "bad"),
    Trend("lagging", frozenset({Verdict.LAGGING}), "warn"),
)


def render_trends(runs: Sequence[Run], unread: Sequence[str] = ()) -> str:
    """Make the page, from at least one run, the oldest first, and what is wrong with runs that could not be read."""
    days = dict.fromkeys((_day(runs[0]), _day(runs[-1])))
    title = f"{len(runs):,} {'audit' if len(runs) == 1 else 'audits'}, {' to '.join(days)}"
    body = [
        f"<main><h1>{escape(title)}</h1>",
        *_unread(unread),
        *_charts(runs),
        "<h2>Run by run</h2>",
        _table(runs),
        *_changes(runs),
        "</main>",
    ]
    return framed(title, body)


def _unread(errors: Sequence[str]) -> Iterator[str]:
    if errors:
        runs = "1 run" if len(errors) == 1 else f"{len(errors):,} runs"
        yield f'<section class="warn"><h2>{runs} could not be read</h2><ul>'
        yield from (f"<li>{escape(shown(error))}</li>" for error in errors)
        yield "</ul></section>"


def _charts(runs: Sequence[Run]) -> Iterator[str]:
    yield '<p class="soft">Partitions by the worst of their verdicts, run by run; time is to scale.</p>'
    for trend in TRENDS:
        counts = [trend.count(run) for run in runs]
        yield f"<h2>{trend.name}: {counts[-1]:,}</h2>"
        yield f'<p class="soft">{_course(counts)}</p>'
        if any(counts):
            yield _chart(trend, runs, counts)


def _course(counts: Sequence[int]) -> str:
    """Describe how a number has changed."""
    if not any(counts):
        return "none in any run"
    before = counts[-2] if len(counts) > 1 else None
    change = "the first run" if before is None else f"{before:,} in the run before"
    return f"{change}; at most {max(counts):,}, above none in {sum(map(bool, counts)):,} of {len(counts):,} runs"


def _chart(trend: Trend, runs: Sequence[Run], counts: Sequence[int]) -> str:
    """Draw a number as it was from one run to the next: it is not known to have changed in between."""
    first, last, most = runs[0].metrics["time"], runs[-1].metrics["time"], max(counts)
    places = [
        (round(WIDTH * (run.metrics["time"] - first) / ((last - first) or 1), 1), round(HEIGHT * (1 - count / most), 1))
        for run, count in zip(runs, counts, strict=True)
    ]
    steps = " ".join((f"M{x} {y}" if number == 0 else f"H{x} V{y}") for number, (x, y) in enumerate(places))
    points = "".join(
        f'<circle cx="{x}" cy="{y}" r="5"><title>{_moment(run)}: {count:,}</title></circle>'
        for (x, y), run, count in zip(places, runs, counts, strict=True)
    )
    return (
        f'<svg class="trend {trend.colour}" role="img" aria-label="{trend.name}: {_course(counts)}" '
        f'viewBox="-8 -8 {WIDTH + 16} {HEIGHT + 16}"><path class="base" d="M0 {HEIGHT} H{WIDTH}"/>'
        f'<path d="{steps}"/>{points}</svg>'
    )


def _changes(runs: Sequence[Run]) -> Iterator[str]:
    """Yield what each run found that the one before did not, the latest first."""
    told = 0
    for before, now in zip(runs[-2::-1], runs[:0:-1], strict=True):
        changes = Changes.between(before, now)
        found = (("new", changes.new), ("gone", changes.gone))
        lines = [f"{what}: {each}" for what, some in found for each in some if NOTE not in each]
        if lines and told < MOST_CHANGES:
            yield f"<h2>What changed by {_moment(now)}</h2><ul>"
            yield from (f"<li>{escape(shown(line))}</li>" for line in lines[: MOST_CHANGES - told])
            yield "</ul>"
        told += len(lines)
    if told > MOST_CHANGES:
        yield f"<p>{told - MOST_CHANGES:,} changes more are left out.</p>"


def _table(runs: Sequence[Run]) -> str:
    columns = ("when, UTC", "partitions", *(trend.name for trend in TRENDS), "findings", "bytes of log", "seconds")
    rows = [
        (
            _moment(run),
            run.metrics.get("partitions"),
            *(trend.count(run) for trend in TRENDS),
            len(run.findings),
            run.metrics.get("bytes"),
            run.metrics.get("seconds"),
        )
        for run in reversed(runs)
    ]
    return plain_table("Run by run", columns, rows, numbers=range(1, len(columns)))


def _day(run: Run) -> str:
    return f"{datetime.fromtimestamp(run.metrics['time'], UTC):%Y-%m-%d}"


def _moment(run: Run) -> str:
    return f"{datetime.fromtimestamp(run.metrics['time'], UTC):%Y-%m-%d %H:%M}"
