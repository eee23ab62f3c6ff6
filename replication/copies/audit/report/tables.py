"""Tables of the page, long ones as data, which the script sorts and searches, short ones as they are; and its words."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from replication.copies.audit.judgement.verdict import Verdict

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

Rows = Sequence[Sequence[object]]


def data_table(
    name: str,
    title: str,
    columns: Sequence[str],
    rows: Rows,
    *,
    numbers: Sequence[int] = (),
    link: tuple[int, Sequence[str | None]] | None = None,
) -> Iterator[str]:
    """Yield a table that the script draws, sorts and searches, for it may be long.

    `numbers` are the columns of numbers; `link` is a column, and for each row the id of the card that it leads to.
    Columns without anything in them are left out.
    """
    colours = {**{verdict.value: colour for verdict, colour in COLOURS.items()}, **SEVERITIES}
    column, cards = link or (-1, ())
    kept = [each for each in range(len(columns)) if each == column or any(row[each] not in {None, ""} for row in rows)]
    data = {
        "title": title,
        "columns": [columns[each] for each in kept],
        "rows": [[row[each] for each in kept] for row in rows],
        "numbers": [place for place, each in enumerate(kept) if each in numbers],
        "colours": colours,
        "linked": kept.index(column) if link else -1,
        "cards": cards,
    }
    yield f'<script type="application/json" id="{name}-data">{_for_script(data)}</script>'
    yield f'<div id="{name}" data-table="{name}-data"><noscript><p>This table needs JavaScript.</p></noscript></div>'


def plain_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[int]) -> str:
    """Return a table as it is; in a narrow window each row is a list of its cells, after their columns' names."""
    head = "".join(
        f'<th role="columnheader" scope="col"{_kind(number, numbers)}>{escape(column)}</th>'
        for number, column in enumerate(columns)
    )
    lines = (
        "".join(
            f'<td role="cell" data-column="{escape(column)}"{_kind(number, numbers)}>{_text(value)}</td>'
            for number, (column, value) in enumerate(zip(columns, row, strict=True))
        )
        for row in rows
    )
    body = "".join(f'<tr role="row">{line}</tr>' for line in lines)
    return (
        f'<div class="scroll"><table role="table" aria-label="{escape(title)}"><thead role="rowgroup">'
        f'<tr role="row">{head}</tr></thead><tbody role="rowgroup">{body}</tbody></table></div>'
    )


def badge(verdict: str) -> str:
    """Return a verdict as a word with a border of its colour."""
    return f'<span class="badge {COLOURS[Verdict(verdict)]}">{verdict}</span>'


def unbroken(text: str) -> str:
    """Escape a text, and keep browsers from breaking its words at their hyphens: names, dates, options."""
    return re.sub(r"\S*-\S*", r'<span class="word">\g<0></span>', escape(text))


def _kind(number: int, numbers: Sequence[int]) -> str:
    return ' class="number"' if number in numbers else ""


def _text(value: object) -> str:
    return f"{value:,}" if isinstance(value, (int, float)) else "" if value is None else escape(str(value))


def _for_script(data: Mapping[str, Any]) -> str:
    """Keep whatever a file was called from ending the script element."""
    return json.dumps(data, ensure_ascii=True).replace("<", "\\u003c")
