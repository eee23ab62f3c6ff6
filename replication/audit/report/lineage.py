"""The picture of a forked partition: one bar a replica, one colour an epoch, and where the log would be cut."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Final

WIDTH: Final = 960
LABELS: Final = 170
"""Width of the column with the replicas' names."""
RIGHT: Final = 24
ROW: Final = 58
BAR: Final = 26
TOP: Final = 30
COLOURS: Final = 8
"""The style sheet has a colour for each of `e0` to `e7`; epochs take them in turn."""
LETTER: Final = 6.5
"""About how wide a letter of a label is."""
MOST_EPOCHS: Final = 60
"""Epochs drawn a replica: older ones are joined to one bar."""

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Scale:
    """Offsets to pixels: what all copies share is squeezed, so that the branches have room."""

    start: int
    fork: int
    end: int
    trunk: float
    """The part of the width that the offsets below `fork` take."""

    @classmethod
    def over(cls, partition: Json) -> "Scale":
        """Fit the branches of a partition."""
        branches = partition["branches"]
        start = min(branch["log_start_offset"] for branch in branches)
        end = max(branch["log_end_offset"] for branch in branches)
        cuts = [pair["truncate_to"] for pair in partition["pairs"] if pair["truncate_to"] is not None]
        parts = [fork["offset"] for fork in partition["forks"]]
        fork = min(max(min([*cuts, *parts, end]), start), end)
        share = (fork - start) / (end - start) if end > start else 0.0
        return cls(start, fork, end, min(share, 0.35) if end > fork else 1.0)

    def x(self, offset: int) -> float:
        """Where an offset stands, in pixels from the left."""
        if offset <= self.fork:
            part = self.trunk * _ratio(offset - self.start, self.fork - self.start)
        else:
            part = self.trunk + (1 - self.trunk) * _ratio(offset - self.fork, self.end - self.fork)
        return LABELS + (WIDTH - LABELS - RIGHT) * min(max(part, 0.0), 1.0)


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

    def parted_at(self, offset: int) -> "tuple[Span, ...]":
        """Part the span where branches part, so that what is shared looks the same in all."""
        if not self.start < offset < self.end:
            return (self,)
        return replace(self, end=offset), replace(self, start=offset)


def draw(partition: Json) -> str:
    """Draw a partition's verdict, as `PartitionVerdict.as_json` gives it, as SVG.

    The cuts are those under the recommended leader: the one under whom fewest records are lost.
    """
    scale = Scale.over(partition)
    branches: Sequence[Json] = partition["branches"]
    height = TOP + ROW * len(branches) + 34
    name = escape(f"{partition['topic']}-{partition['partition']}")
    parts = [
        f'<svg class="lineage" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="Who has what of {name}">',
        *_axis(scale, partition, height),
    ]
    for row, branch in enumerate(branches):
        parts += _branch(branch, partition, scale, TOP + ROW * row)
    return "\n".join([*parts, "</svg>"])


def _axis(scale: Scale, partition: Json, height: int) -> Iterator[str]:
    bottom = height - 26
    offsets = {scale.start, scale.fork, *(branch["log_end_offset"] for branch in partition["branches"])}
    taken = -1_000.0
    for offset in sorted(offsets):
        x = scale.x(offset)
        mark = "fork" if offset == scale.fork else "tick"
        yield f'<line class="{mark}" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 12}" y2="{bottom}"/>'
        label = f"{offset:,}"
        if x - taken > LETTER * len(label) + 8 or mark == "fork":
            yield f'<text class="offset {mark}-label" x="{x:.1f}" y="{bottom + 16}">{label}</text>'
            taken = x


def _branch(branch: Json, partition: Json, scale: Scale, y: int) -> Iterator[str]:
    leads = branch["replica"] == partition["recommended"]
    replica = escape(_short(branch["replica"], 22))
    note = "least loss" if leads else f"{branch['records']:,} records"
    yield f'<text class="replica" x="0" y="{y + 16}">{replica}</text>'
    yield f'<text class="note" x="0" y="{y + 32}">{note}</text>'
    spans = [part for span in _spans(branch) for part in span.parted_at(scale.fork)]
    for span in spans:
        yield _bar(span, scale, y)
    yield from _high_watermark(branch, scale, y)
    if not leads:
        yield from _cut(branch, partition, scale, y)
    for span in spans:
        yield from _label(span, scale, y)


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


def _bar(span: Span, scale: Scale, y: int) -> str:
    left, right = scale.x(span.start), scale.x(span.end)
    return (
        f'<rect class="epoch e{span.last_epoch % COLOURS}" x="{left:.1f}" y="{y}" width="{max(right - left, 1):.1f}" '
        f'height="{BAR}" rx="2"><title>{span.name}: offsets {span.start:,} to {span.end - 1:,}</title></rect>'
    )


def _label(span: Span, scale: Scale, y: int) -> Iterator[str]:
    left, right = scale.x(span.start), scale.x(span.end)
    for text in (span.name, str(span.first_epoch)):
        if right - left > LETTER * len(text) + 6:
            yield f'<text class="on-bar" x="{(left + right) / 2:.1f}" y="{y + 17}">{text}</text>'
            return


def _high_watermark(branch: Json, scale: Scale, y: int) -> Iterator[str]:
    offset = branch["high_watermark"]
    if offset is None:
        return
    x = scale.x(offset)
    yield (
        f'<path class="hw" d="M{x:.1f} {y - 1}l-5 -8h10z"><title>high watermark {offset:,}: acknowledged up to here'
        "</title></path>"
    )


def _cut(branch: Json, partition: Json, scale: Scale, y: int) -> Iterator[str]:
    pair = next(
        (
            pair
            for pair in partition["pairs"]
            if pair["leader"] == partition["recommended"] and pair["follower"] == branch["replica"]
        ),
        None,
    )
    if pair is None or pair["truncate_to"] is None or pair["truncate_to"] >= branch["log_end_offset"]:
        return
    left, right = scale.x(pair["truncate_to"]), scale.x(branch["log_end_offset"])
    text = f"cut at {pair['truncate_to']:,}: loses {pair['records_lost']:,} records, {pair['bytes_lost']:,} bytes"
    beyond = left + LETTER * len(text) > WIDTH
    yield (
        f'<rect class="lost" x="{left:.1f}" y="{y}" width="{max(right - left, 2):.1f}" height="{BAR}">'
        f"<title>{text}</title></rect>"
    )
    yield f'<line class="cut" x1="{left:.1f}" x2="{left:.1f}" y1="{y - 5}" y2="{y + BAR + 5}"/>'
    anchor, x = ("end", WIDTH - 2) if beyond else ("start", left)
    yield f'<text class="lost-label" text-anchor="{anchor}" x="{x:.1f}" y="{y + BAR + 16}">{text}</text>'


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else "…" + name[1 - most :]


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
