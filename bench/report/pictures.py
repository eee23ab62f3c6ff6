"""The pictures of docs/performance.md."""

from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from bench.report.curve import Curve
from bench.report.evidence import Comparison, Evidence
from bench.report.figures import duration, ratio, round_duration, short, size
from bench.report.targets import Target
from bench.results import KAFKA

STYLE: Final[Any] = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "epochlog",
}
"""The text stays text, and the same figures give the same file."""
INK, AHEAD, BEHIND, AIM = "#333333", "#2f6f9f", "#b5523b", "#d9a441"
COLUMNS: Final = 3
COLOURS: Final = 10
LINES: Final = ("-", "--", ":", "-.")
"""Of the same colour: curves beyond the tenth, the twentieth."""
HUNDREDFOLD: Final = 100
FARTHEST: Final = 500
"""Bars of larger ratios end at the edge: the others are to be seen too."""


def draw(evidence: Evidence, targets: list[Target], curves: list[Curve], directory: Path) -> dict[str, Path]:
    """Draw all for which there are figures; return their files by name."""
    directory.mkdir(parents=True, exist_ok=True)
    drawn: dict[str, Path] = {}
    with mpl.rc_context(STYLE):
        if found := evidence.comparisons(KAFKA):
            aims = {target.row: _times(target) for target in targets if target.beside == KAFKA}
            drawn[KAFKA] = _save(_ratios(found, aims), directory / "performance-kafka.svg")
        if curves:
            drawn["cost of a unit"] = _save(_costs(curves), directory / "performance-cost.svg")
            drawn["time of all"] = _save(_growth(curves), directory / "performance-growth.svg")
    return drawn


def _save(figure: Figure, path: Path) -> Path:
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    # Trailing blanks, which matplotlib writes, would be found fault with.
    path.write_text("".join(f"{line.rstrip()}\n" for line in path.read_text().splitlines()))
    return path


def _times(target: Target) -> float:
    """The aim as a ratio."""
    return target.aim if target.at_least is not None else 1 / target.aim


def _ratios(found: list[Comparison], aims: dict[str, float]) -> Figure:
    """A bar for the worst run of each, a line to the best, and a mark at the aim."""
    figure = Figure(figsize=(8, 0.8 + 0.24 * len(found)))
    axes = figure.add_subplot()
    for place, each in enumerate(reversed(found)):
        worst, best = min(each.ratios), max(each.ratios)
        axes.barh(place, worst - 1, left=1, height=0.6, color=AHEAD if worst >= 1 else BEHIND)
        axes.plot([worst, best], [place, place], color=INK, linewidth=1)
        aim = aims.get(each.name, 1)
        if aim != 1:
            axes.plot([aim], [place], marker="|", markersize=9, markeredgewidth=2, color=AIM)
        beside = min(max(best, aim, 1), FARTHEST), place
        axes.annotate(ratio(worst), beside, (4, 0), textcoords="offset points", va="center", fontsize=7)
    axes.axvline(1, color=INK, linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(found)), [each.name for each in reversed(found)])
    axes.set_ylim(-0.6, len(found) - 0.4)
    axes.set_xlim(right=min(axes.get_xlim()[1], 2 * FARTHEST))
    _number_ticks(axes, "x")
    axes.set_xlabel(
        f"times as fast as {KAFKA} in the worst run; a line leads to the best, a yellow mark is an aim that is not 1"
    )
    return figure


def _costs(curves: list[Curve]) -> Figure:
    """What a unit costs, a small picture for each curve."""
    rows = -(-len(curves) // COLUMNS)
    figure = Figure(figsize=(9, 2.1 * rows), layout="constrained")
    for number, curve in enumerate(curves):
        axes = figure.add_subplot(rows, COLUMNS, number + 1)
        costs = [point.cost for point in curve.points]
        axes.plot([point.scale for point in curve.points], costs, marker="o", markersize=3, color=AHEAD)
        for side, end, next_to_it in (("left", *curve.points[:2]), ("right", *curve.points[:-3:-1])):
            off_the_line = (0, 5 if end.cost >= next_to_it.cost else -10)
            place = end.scale, end.cost
            axes.annotate(duration(end.cost), place, off_the_line, textcoords="offset points", ha=side, fontsize=7)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(min(costs) / 3, max(costs) * 3)
        axes.set_title(curve.name, fontsize=8)
        axes.set_ylabel(f"{curve.unit}: time of one", fontsize=7)
        axes.tick_params(labelsize=7)
        named = [curve.points[0].scale, curve.points[len(curve.points) // 2].scale, curve.points[-1].scale]
        axes.set_xticks(sorted(set(named)), [_scale(curve, scale) for scale in sorted(set(named))])
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: round_duration(value)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    return figure


def _scale(curve: Curve, value: float) -> str:
    return size(value) if curve.in_bytes else short(value)


def _growth(curves: list[Curve]) -> Figure:
    """How many times as long it takes where there is so many times as much to do.

    Curves on which there is always as much to do, among more and more, have no place in it.
    """
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([1, HUNDREDFOLD], [1, HUNDREDFOLD], color=INK, linewidth=0.8, linestyle="--", label="as the work")
    for number, curve in enumerate(each for each in curves if each.grows):
        first = curve.points[0]
        shown = [point for point in curve.points if point.units <= first.units * HUNDREDFOLD]
        axes.plot(
            [point.units / first.units for point in shown],
            [point.total / first.total for point in shown],
            marker="o",
            markersize=3,
            linestyle=LINES[number // COLOURS % len(LINES)],
            label=curve.name,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("times as much to do")
    axes.set_ylabel("times as long")
    _number_ticks(axes, "x")
    _number_ticks(axes, "y")
    figure.legend(loc="outside right upper", fontsize=7, frameon=False, handlelength=4)
    return figure


def _number_ticks(axes: Axes, which: str) -> None:
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axis.set_minor_formatter(NullFormatter())
