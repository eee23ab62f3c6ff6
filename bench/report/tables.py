"""The measured part of docs/performance.md as text: one function for each of its sections."""

import re
from collections.abc import Iterable
from itertools import groupby
from statistics import median
from textwrap import fill
from typing import Any

from bench.limits import fastest
from bench.report.curve import Curve
from bench.report.evidence import RUNS_THAT_COUNT, Comparison, Evidence
from bench.report.figures import digits, duration, exactly, ratio, share, size, speed, spread
from bench.report.suite import SHORT_ID, Benchmark
from bench.report.targets import Judgement, Target, Verdict
from bench.results import BARE_WRITE, KAFKA, OURS, Row

LONGEST_ROW, WIDTH, MORE = 300, 120, " (more below)"
WITHOUT_KAFKA = "without_kafka"
"""The condition that says why."""
NO_REASON = "**no reason is given yet**"
CONDITIONS = {
    "date": "Measured on {}",
    "commit": "commit {}",
    "processor": "{}",
    "cores": "{} cores",
    "memory_gib": "{} GiB",
    "load": "load {} as the runs began",
    "clock": "{} time",
    "log_bytes": "logs of {}",
    "files": "{}",
}
"""How the conditions that every run has are told; others are told by their names."""


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Write a table, with notes below it for what makes a row too long; a section with an empty one is none."""
    lines, notes = [], []
    for cells in rows:
        shown, rest = _shortened(cells)
        lines.append(_line(shown))
        notes += [f"- {cells[0]}: {rest}"] if rest else []
    below = (
        [*(fill(note, WIDTH, subsequent_indent="  ", break_on_hyphens=False) for note in notes), ""] if notes else []
    )
    return [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *lines, "", *below] if lines else []


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |".replace("  ", " ")


def _shortened(cells: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Cut whole sentences off the last cell until the row is short enough; give them as well."""
    *others, last = cells
    sentences = re.split(r"(?<=\.) (?=[A-Z0-9])", last)
    for count in range(len(sentences), 0, -1):
        more = MORE if count < len(sentences) else ""
        shown = (*others, " ".join(sentences[:count]) + more)
        if count == 1 or len(_line(shown)) <= LONGEST_ROW:
            return shown, " ".join(sentences[count:])
    return cells, ""


def machine(evidence: Evidence) -> list[str]:
    """On what, when and of which commit all was measured."""
    conditions = evidence.conditions
    if "date" in conditions:
        conditions["date"] = sorted({date.partition(" ")[0] for date in conditions["date"]})
    if "log_bytes" in conditions:
        conditions["log_bytes"] = [size(each) for each in conditions["log_bytes"]]
    others = [key for key in conditions if key not in CONDITIONS and key != WITHOUT_KAFKA]
    keys = [*(key for key in CONDITIONS if key in conditions), *others]
    told = [CONDITIONS.get(key, f"{key} {{}}").format(_values(conditions[key])) for key in keys]
    lines = [fill(f"{', '.join(told)}.", WIDTH, break_on_hyphens=False), ""] if told else []
    commits = [str(commit) for commit in evidence.conditions.get("commit", [])]
    if len({commit[:SHORT_ID] for commit in commits}) > 1:
        lines += ["**Not all figures are of the same commit.**", ""]
    if any("dirty" in commit for commit in commits):
        lines += ["Files differed from that commit.", ""]
    return lines


def without_kafka(evidence: Evidence) -> list[str]:
    """That the other side was missing, where it was."""
    if KAFKA in evidence.sides:
        return []
    why = f" ({missing})" if (missing := _values(evidence.conditions.get(WITHOUT_KAFKA, []))) else ""
    return [f"**Kafka was not there{why}: the figures are ours alone, and no ratio to it is known.**", ""]


def _values(values: list[Any]) -> str:
    """What one condition was in all runs."""
    numbers = [value for value in values if isinstance(value, int | float)]
    if len(numbers) == len(values) > 1:
        return f"{exactly(min(numbers))} to {exactly(max(numbers))}"
    return " and ".join(map(str, values))


def limits(evidence: Evidence) -> list[str]:
    """What the machine can do."""
    rows = [
        (row.name, f"{row.bytes / taken:.2f} GB/s" if row.bytes else duration(taken))
        for row in evidence.limits
        if (taken := fastest(row))
    ]
    return ["### What this machine can do on one core", "", *table(("what", "fastest round"), rows)] if rows else []


def beside(evidence: Evidence, side: str, targets: list[Target]) -> list[str]:
    """All work that another side did too."""
    found = evidence.comparisons(side)
    if not found:
        return []
    runs = min(len(each.ratios) for each in found)
    groups = list(dict.fromkeys(each.rows[0].group for each in found))
    aims = {target.row: _aim(target) for target in targets if target.beside == side}
    ratios = f"of {side}" if side == BARE_WRITE else "times as fast"
    head = ("what", OURS, side, f"{ratios}, worst to best run", "aim")
    counted = "1 run" if runs == 1 else f"{runs} runs"
    few = f" A ratio counts only once it holds in {RUNS_THAT_COUNT} runs." if runs < RUNS_THAT_COUNT else ""
    rounds = min(len(row.times[side]) for each in found for row in each.rows)
    return [
        f"### Beside {side}",
        "",
        f"In turn, on the same bytes: medians of {rounds} rounds or more in each of {counted}, and of the runs.{few}",
        "",
        *(line for group in groups for line in _group(group, head, found, aims)),
    ]


def _group(name: str, head: tuple[str, ...], found: list[Comparison], aims: dict[str, str]) -> list[str]:
    rows = [_compared(each, aims.get(each.name, "")) for each in found if each.rows[0].group == name]
    return [*([f"**{name.capitalize()}**", ""] if name else []), *table(head, rows)]


def _compared(found: Comparison, aim: str) -> tuple[str, ...]:
    row = found.rows[0]
    ours, theirs = (speed(row, found.nanoseconds(side)) for side in (OURS, found.side))
    told = spread(found.ratios, share if found.side == BARE_WRITE else ratio)
    return found.name, ours, theirs, told, aim


def _aim(target: Target) -> str:
    """The aim, as a ratio."""
    if target.at_least is None:
        return f"≤ {exactly(target.aim)} of its time"
    return f"≥ {share(target.aim) if target.beside == BARE_WRITE else exactly(target.aim)}"


def alone(evidence: Evidence) -> list[str]:
    """What no other side does, or did."""
    names = dict.fromkeys(row.name for row in evidence.rows if set(row.times) == {OURS} and not row.scale)
    found = [evidence.named(name) for name in names]
    lines: list[str] = []
    for group in dict.fromkeys(rows[0].group for rows in found):
        told = [(rows[0].name, _of_runs(rows)) for rows in found if rows[0].group == group]
        lines += [*([f"**{group.capitalize()}**", ""] if group else []), *table(("what", OURS), told)]
    return ["### By ourselves", "", *lines] if lines else []


def _of_runs(rows: list[Row]) -> str:
    """The median of the runs' medians."""
    return speed(rows[0], median(taken for row in rows if (taken := row.median(OURS)) is not None))


def skipped(evidence: Evidence, unmeasured: Iterable[str] = ()) -> list[str]:
    """What was not measured, and why; `unmeasured` are curves."""
    rows = [(row.name, row.skipped) for row in evidence.skipped]
    rows += [(name, "no result of bench.scaling has it") for name in unmeasured]
    return ["### Not measured", "", *table(("what", "why"), rows)] if rows else []


def growth(curves: list[Curve]) -> list[str]:
    """Whether the cost of a unit stays the same as the work grows."""
    rows = [_grown(curve) for curve in curves]
    head = ("what", "from", "to", "unit", "costs at first", "at last", "memory of one, at last", "rises", "why")
    return ["### As the work grows", "", *table(head, rows)] if rows else []


def _grown(curve: Curve) -> tuple[str, ...]:
    first, last = curve.points[0], curve.points[-1]
    return (
        curve.name,
        _scale(curve, first.scale),
        _scale(curve, last.scale),
        curve.unit,
        duration(first.cost),
        duration(last.cost),
        size(last.memory) if last.memory else "",
        "no" if curve.is_flat else f"{ratio(curve.rise)} times",
        "" if curve.is_flat else curve.reason or NO_REASON,
    )


def _scale(curve: Curve, value: float) -> str:
    return size(value) if curve.in_bytes else exactly(value)


def aims(judgements: list[Judgement]) -> list[str]:
    """What is reached, and why the rest is not."""
    if not judgements:
        return []
    by = {verdict: [each for each in judgements if each.verdict is verdict] for verdict in Verdict}
    lines = ["### Aims", "", f"{len(by[Verdict.REACHED])} of {len(judgements)} are reached in every run.", ""]
    if by[Verdict.MISSED]:
        rows = [(*_judged(each), each.target.reason or NO_REASON) for each in by[Verdict.MISSED]]
        lines += ["Missed:", "", *table(("what", "aim", "worst run", "why, and what was tried"), rows)]
    if by[Verdict.OPEN]:
        rows = [(*_judged(each), _why_open(each)) for each in by[Verdict.OPEN]]
        lines += ["Open:", "", *table(("what", "aim", "worst run", "why"), rows)]
    if by[Verdict.REACHED]:
        rows = [_judged(each) for each in by[Verdict.REACHED]]
        lines += ["Reached:", "", *table(("what", "aim", "worst run"), rows)]
    return lines


def _judged(judgement: Judgement) -> tuple[str, ...]:
    target = judgement.target
    worst = judgement.worst if judgement.values else None
    if target.benchmark:
        sign = "≥" if target.at_least is not None else "≤"
        return target.what, f"{target.figure} {sign} {exactly(target.aim)}", "" if worst is None else digits(worst)
    if target.of_limit:
        return target.what, f"≥ {share(target.aim)} of: {target.of_limit}", "" if worst is None else share(worst)
    measured = "" if worst is None else share(worst) if target.beside == BARE_WRITE else ratio(worst)
    return target.what, f"{_aim(target)}, beside {target.beside}", measured


def _why_open(judgement: Judgement) -> str:
    if judgement.skipped:
        return judgement.skipped
    if judgement.values:
        return f"holds in {len(judgement.values)} of {RUNS_THAT_COUNT} runs that are needed"
    return "not measured"


def suites(evidence: Evidence) -> list[str]:
    """Every benchmark of the suites, file by file."""
    lines: list[str] = []
    for group, members in groupby(evidence.benchmarks, key=lambda each: each.group):
        rows = [_benchmark(each) for each in members]
        lines += ["", f"`{group}`", "", *table(("benchmark", "median", "quartiles apart", "rounds", "figures"), rows)]
    if not lines:
        return []
    return ["<details><summary>Every benchmark</summary>", *lines, "</details>", ""]


def _benchmark(each: Benchmark) -> tuple[str, ...]:
    figures = "; ".join(f"{name}: {digits(value)}" for name, value in each.figures.items() if name != "seconds")
    name = each.name.partition("::")[2].replace("|", "\\|")
    return f"`{name}`", duration(each.seconds * 1e9), duration(each.spread * 1e9), str(each.rounds), figures
