"""The picture of a partition: one bar a copy, one colour an epoch, what would be cut off, and where damage is.

Everything stands at a share of the width, and text at its own size, so that it is readable on a telephone too.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib.resources import files
from itertools import pairwise
from typing import Final, NamedTuple

from replication.base.counted import counted
from replication.base.json_object import Json
from replication.copies.audit.report.axis import GAP, STUB, Axis

BAR_TOP: Final = 14
BAR: Final = 26
CUT_LABEL: Final = BAR_TOP + BAR + 15
HEIGHT: Final = BAR_TOP + BAR + 20
AXIS_HEIGHT: Final = 24
COLOURS: Final = 8
"""The style sheet has a colour for each of `e0` to `e7`; epochs take them in turn."""
LETTER: Final = 7.0
"""About how many pixels wide a letter of a label is."""
WIDTHS: Final = {"wide": 720, "narrow": 330}
"""How many pixels wide a picture is at least, by the class of what is only shown then: in a window, on a telephone."""
MOST_EPOCHS: Final = 60
"""Epochs drawn a copy: older ones are joined to one bar."""
TOLD_EPOCHS: Final = 3
"""Epochs named in the text beside a bar, the latest ones."""


class Mark(NamedTuple):
    """A place in a copy where something is wrong."""

    replica: str
    offset: int
    title: str


@dataclass(frozen=True, slots=True)
class Span:
    """The offsets from `start` up to `end` that one epoch wrote, or several."""

    start: int
    end: int
    first_epoch: int
    last_epoch: int

    @property
    def name(self) -> str:
        """What the bar is called."""
        if self.first_epoch < 0:
            return "unknown epoch"
        one = self.first_epoch == self.last_epoch
        return f"epoch {self.first_epoch}" if one else f"epochs {self.first_epoch} to {self.last_epoch}"

    def parted_at(self, offsets: Iterable[int]) -> "Iterator[Span]":
        """Part the span where copies begin to differ, so that what is shared looks the same in all."""
        seams = sorted({self.start, self.end, *(each for each in offsets if self.start < each < self.end)})
        yield from (replace(self, start=start, end=end) for start, end in pairwise(seams))


def draw(partition: Json, marks: Sequence[Mark] = ()) -> str:
    """Draw a partition's verdict, as `PartitionVerdict.as_json` gives it, as HTML with the bars as SVG.

    The cuts are those under the recommended leader: the one under whom least is lost. The style sheet
    `lineage.css` and `hatching` belong to it, once for all pictures of a page.
    """
    axis = Axis.over(partition, tuple(mark.offset for mark in marks))
    name = escape(f"{partition['topic']}-{partition['partition']}")
    parts = [f'<figure class="lineage" aria-label="Who has what of {name}">']
    for branch in partition["branches"]:
        parts.append(_words(branch))
        if axis.is_drawn:
            parts += _bar(branch, partition, axis, [mark for mark in marks if mark.replica == branch["replica"]])
    parts += (f'<p class="who"><b>{escape(name)}</b> <span>no copy</span></p>' for name in partition["missing"] if name)
    if axis.is_drawn:
        parts += [*_axis(axis, partition), f"<figcaption>{_legend(axis, partition, marks)}</figcaption>"]
    return "\n".join([*parts, "</figure>"])


def draw_alone(partition: Json) -> str:
    """Draw a partition as `draw` does, with the style that it needs: for a notebook."""
    return f"<style>{style_sheet()}</style>{hatching()}{draw(partition)}"


def style_sheet() -> str:
    """Return the style of the pictures."""
    return files(__package__).joinpath("lineage.css").read_text(encoding="utf-8")


def hatching() -> str:
    """Return what the hatched parts of all pictures are filled with."""
    return (
        '<svg class="pattern" width="0" height="0" aria-hidden="true"><defs><pattern id="hatch" width="7" height="7" '
        'patternUnits="userSpaceOnUse"><path d="M0 7L7 0"/></pattern></defs></svg>'
    )


def _words(branch: Json) -> str:
    """Return what one copy has."""
    start, end, committed = branch["log_start_offset"], branch["log_end_offset"], branch["high_watermark"]
    offsets = f"offsets {start:,} to {end - 1:,}" if end > start else f"empty, from offset {start:,} on"
    watermark = "high watermark not known" if committed is None else f"high watermark {committed:,}"
    return (
        f'<p class="who"><b>{escape(branch["replica"])}</b> <span>{offsets}, {watermark}</span> '
        f'<span class="unseen">{_epochs(branch)}</span></p>'
    )


def _bar(branch: Json, partition: Json, axis: Axis, marks: Sequence[Mark]) -> Iterator[str]:
    """Draw one copy."""
    committed = branch["high_watermark"]
    yield f'<svg class="bar" width="100%" height="{HEIGHT}" aria-hidden="true">'
    spans = [part for span in _spans(branch) for part in span.parted_at((axis.focus, *axis.forks))]
    for span in spans:
        yield from _bars(span, axis)
    yield from _cut(branch, partition, axis)
    for span in spans:
        yield from _labels(span, axis)
    yield from _forks(axis)
    yield from _break(axis)
    if committed is not None:
        yield from _at(axis.x(committed), f'<path class="hw" d="M0 {BAR_TOP - 1}l-5 -8h10z"/>')
    for mark in marks:
        cross = (
            f'<path class="mark" d="M-5 {BAR_TOP + 8}l10 10m0 -10l-10 10"><title>{escape(mark.title)}</title></path>'
        )
        yield from _at(axis.x(mark.offset), cross)
    yield "</svg>"


def _epochs(branch: Json) -> str:
    """Return who led when, as text for readers who do not see the bars."""
    latest = branch["lineage"][-TOLD_EPOCHS:]
    earlier = "earlier epochs, " if len(latest) < len(branch["lineage"]) else ""
    return earlier + ", ".join(f"epoch {entry['epoch']} from offset {entry['start_offset']:,}" for entry in latest)


def _spans(branch: Json) -> Iterator[Span]:
    """Yield what each epoch wrote; the oldest of many epochs are joined."""
    start, end = branch["log_start_offset"], branch["log_end_offset"]
    lineage = branch["lineage"] or [{"epoch": -1, "start_offset": start}]
    joined = lineage[:-MOST_EPOCHS] if len(lineage) > MOST_EPOCHS else []
    drawn = lineage[len(joined) :]
    if joined:
        yield Span(start, max(start, drawn[0]["start_offset"]), joined[0]["epoch"], joined[-1]["epoch"])
    for number, entry in enumerate(drawn):
        following = drawn[number + 1]["start_offset"] if number + 1 < len(drawn) else end
        first = max(entry["start_offset"], start)
        if following > first:
            yield Span(first, following, entry["epoch"], entry["epoch"])


def _bars(span: Span, axis: Axis) -> Iterator[str]:
    for left, right in axis.places(span.start, span.end):
        yield (
            f'<rect class="epoch e{span.last_epoch % COLOURS}" x="{left:.3f}%" y="{BAR_TOP}" '
            f'width="{max(right - left, 0.2):.3f}%" height="{BAR}">'
            f"<title>{span.name}: offsets {span.start:,} to {span.end - 1:,}</title></rect>"
        )


def _labels(span: Span, axis: Axis) -> Iterator[str]:
    """Name the epoch on its bar where there is room, in a window and on a telephone."""
    for left, right in axis.places(span.start, span.end):
        for kind, width in WIDTHS.items():
            room = (right - left) / 100 * width - 6
            text = next((text for text in (span.name, str(span.last_epoch)) if LETTER * len(text) < room), None)
            if text is not None:
                middle = (left + right) / 2
                yield f'<text class="on-bar {kind}" x="{middle:.3f}%" y="{BAR_TOP + 17}">{text}</text>'


def _cut(branch: Json, partition: Json, axis: Axis) -> Iterator[str]:
    pair = _cut_of(branch, partition)
    if pair is None:
        return
    text = f"cut at {pair['truncate_to']:,}: {counted(pair['records_lost'], 'record')}"
    for left, right in axis.places(pair["truncate_to"], branch["log_end_offset"]):
        yield (
            f'<rect class="lost" x="{left:.3f}%" y="{BAR_TOP}" width="{max(right - left, 0.4):.3f}%" height="{BAR}">'
            f"<title>{text}</title></rect>"
        )
        yield f'<line class="cut" x1="{left:.3f}%" x2="{left:.3f}%" y1="{BAR_TOP - 5}" y2="{BAR_TOP + BAR + 5}"/>'
        for kind, width in WIDTHS.items():
            beyond = left / 100 * width + LETTER * len(text) > width
            yield (
                f'<text class="lost-label {kind}" text-anchor="{"end" if beyond else "start"}" x="{left:.3f}%" '
                f'dx="{-5 if beyond else 5}" y="{CUT_LABEL}">{text}</text>'
            )


def _cut_of(branch: Json, partition: Json) -> Json | None:
    """Return what a copy loses under the recommended leader."""
    follows = (
        pair
        for pair in partition["pairs"]
        if pair["leader"] == partition["recommended"] and pair["follower"] == branch["replica"]
    )
    pair = next(follows, None)
    beyond = pair and (pair["truncate_to"] is None or pair["truncate_to"] >= branch["log_end_offset"])
    return None if beyond else pair


def _forks(axis: Axis) -> Iterator[str]:
    """Draw through all copies where they part."""
    for x in map(axis.x, axis.forks):
        if x is not None:
            yield f'<line class="fork" x1="{x:.3f}%" x2="{x:.3f}%" y1="0" y2="{HEIGHT}"/>'


def _break(axis: Axis) -> Iterator[str]:
    """Draw the break through a bar: nothing between its two lines is to scale."""
    if axis.left_out is not None:
        top, bottom = BAR_TOP - 4, BAR_TOP + BAR + 4
        for x in (STUB, STUB + GAP):
            yield from _at(x, f'<path class="break" d="M0 {top}l-4 8l8 9l-8 9l4 {bottom - top - 26}"/>')


def _at(x: float | None, shape: str) -> Iterator[str]:
    """Put a shape of pixels at a share of the width; nowhere where that is left out."""
    if x is not None:
        yield f'<svg x="{x:.3f}%" overflow="visible">{shape}</svg>'


def _axis(axis: Axis, partition: Json) -> Iterator[str]:
    """Yield the offsets that matter, as many as there is room for."""
    ends = {branch["log_end_offset"] for branch in partition["branches"]}
    starts = {branch["log_start_offset"] for branch in partition["branches"]}
    yield f'<svg class="axis" width="100%" height="{AXIS_HEIGHT}" aria-hidden="true">'
    yield '<line class="tick" x1="0%" x2="100%" y1="1" y2="1"/>'
    if axis.left_out is not None:
        yield f'<rect class="gap" x="{STUB}%" y="0" width="{GAP}%" height="3"/>'
    # What differs has a label before all others, then the ends.
    marked = (axis.focus, *axis.forks) if axis.differs else ()
    wanted = [*marked, axis.parts[-1].end, axis.parts[0].first, *sorted(ends), *sorted(starts)]
    placed = [(offset, x) for offset in dict.fromkeys(wanted) if (x := axis.x(offset)) is not None]
    for offset, x in placed:
        kind = "fork" if offset in marked else "tick"
        yield f'<line class="{kind}" x1="{x:.3f}%" x2="{x:.3f}%" y1="0" y2="7"/>'
    for kind, width in WIDTHS.items():
        yield from _offsets(placed, marked, kind, width)
    yield "</svg>"


def _offsets(placed: Sequence[tuple[int, float]], marked: Sequence[int], kind: str, width: int) -> Iterator[str]:
    taken: list[tuple[float, float]] = []
    for offset, x in placed:
        text = f"{offset:,}"
        half = LETTER * len(text) / 2
        middle = min(max(x / 100 * width, half), width - half)
        if any(middle - half < end + 6 and middle + half > start - 6 for start, end in taken):
            continue
        taken.append((middle - half, middle + half))
        at_edge = {half: "start", width - half: "end"}.get(middle, "middle")
        place = {"start": 0.0, "end": 100.0}.get(at_edge, x)
        mark = " fork-label" if offset in marked else ""
        yield f'<text class="offset {kind}{mark}" text-anchor="{at_edge}" x="{place:.3f}%" y="20">{text}</text>'


def _legend(axis: Axis, partition: Json, marks: Sequence[Mark]) -> str:
    """Explain what is in this picture, and nothing that is not."""
    told = ["Each bar is a copy, each colour and number a leader epoch."]
    if any(_cut_of(branch, partition) for branch in partition["branches"]):
        told.append(f"Hatched: cut off if {escape(partition['recommended'])} leads.")
    if any(branch["high_watermark"] is not None for branch in partition["branches"]):
        told.append("▼ high watermark: records before it were acknowledged.")
    if marks:
        told.append("✕ damage or a difference, see the findings.")
    if axis.left_out is None:
        told.append("To scale.")
    else:
        first, last = axis.left_out
        told.append(f"Between the jagged lines offsets {first:,} to {last:,} are left out; the rest is to scale.")
    return " ".join(told)
