"""Hold a run of `make bench-quick` against the baseline of the same processor.

    python -m bench.quick RESULT.json [--keep] [--picture FILE.svg]

Times are those of the fastest round, as other work on the machine makes a round slower and never faster. Status 0:
nothing is much slower than the baseline, or there is none for this processor, which `--keep` writes; 1: something is;
2: there is no result.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from bench.command_line import run_program
from bench.report.figures import duration
from bench.report.pictures import AHEAD, BEHIND, STYLE
from bench.results import ROOT

BASELINES: Final = ROOT / "bench/baselines"
NOISE: Final = 1.5
"""How many times as long is called slower, and how many times as fast is called faster: machines are shared."""
BESIDE: Final = "beside it: "


@dataclass(frozen=True)
class Measured:
    """One piece of work: seconds of a call, in the fastest round, the quartiles, and the median."""

    group: str
    name: str
    seconds: float
    quartiles: tuple[float, float]
    median: float

    @property
    def key(self) -> str:
        """What a baseline knows it by."""
        return f"{self.group}: {self.name}"


def read(document: dict[str, Any]) -> list[Measured]:
    """Read what `pytest --benchmark-json` wrote."""
    return [
        Measured(
            each["group"],
            each["name"],
            each["stats"]["min"],
            (each["stats"]["q1"], each["stats"]["q3"]),
            each["stats"]["median"],
        )
        for each in document["benchmarks"]
    ]


def baseline_of(processor: str, directory: Path = BASELINES) -> Path:
    """Return the file that has, or would have, the baseline of a processor."""
    return directory / f"{re.sub(r'[^a-z0-9]+', '-', processor.lower()).strip('-')}.json"


def verdicts(measured: list[Measured], baseline: dict[str, float]) -> Iterator[tuple[Measured, str]]:
    """Yield whether each piece of work is faster or slower than it was; an empty text where it is about the same."""
    for each in measured:
        before = baseline.get(each.key)
        if before is None:
            yield each, "new"
        elif each.seconds > before * NOISE:
            yield each, f"SLOWER: {each.seconds / before:.1f} times as long as {duration(before * 1e9)}"
        elif each.seconds * NOISE < before:
            yield each, f"faster: {before / each.seconds:.1f} times as fast as {duration(before * 1e9)}"
        else:
            yield each, ""


def draw(measured: list[Measured], path: Path) -> None:
    """Draw the middle half of all rounds of each piece of work, ours and what is beside it."""
    with mpl.rc_context({**STYLE, "font.size": 8}):
        figure = Figure(figsize=(9, 0.24 * len(measured) + 1))
        axes = figure.subplots()
        for row, each in enumerate(measured):
            first, third = each.quartiles
            colour = BEHIND if each.name.startswith(BESIDE) else AHEAD
            axes.barh(row, (third - first) * 1e6, left=first * 1e6, color=colour, height=0.6)
            axes.plot(each.median * 1e6, row, "|", color=colour, markersize=9)
        axes.set_yticks(range(len(measured)), [each.key for each in measured])
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xlabel("µs a call, the middle half of all rounds")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def main(words: list[str] | None = None, baselines: Path = BASELINES) -> int:
    """Print each piece of work with its verdict; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.quick", description="Hold a quick run against the baseline.")
    parser.add_argument("result", type=Path, help="what pytest-benchmark wrote as JSON")
    parser.add_argument("--keep", action="store_true", help="make this run the baseline of this processor")
    parser.add_argument("--picture", type=Path, help="where to draw the times, as SVG")
    given = parser.parse_args(words)
    try:
        document = json.loads(given.result.read_text())
        measured, processor = read(document), document["machine_info"]["cpu"]["brand_raw"]
    except (OSError, ValueError, KeyError) as error:
        print(f"{given.result}: no result of `make bench-quick`: {error!r}", file=sys.stderr)
        return 2
    path = baseline_of(processor, baselines)
    known = json.loads(path.read_text())["seconds"] if path.exists() else {}
    width = max(len(each.name) for each in measured)
    group, slower = "", 0
    for each, verdict in verdicts(measured, known):
        if each.group != group:
            group = each.group
            print(f"\n{group}")
        told = verdict if known else ""
        print(f"  {each.name:{width}}  {duration(each.seconds * 1e9):>10}  {told}".rstrip())
        slower += verdict.startswith("SLOWER")
    if given.picture:
        draw(measured, given.picture)
        print(f"\n{given.picture} has the picture")
    if given.keep:
        path.parent.mkdir(exist_ok=True)
        content = {"processor": processor, "seconds": {each.key: float(f"{each.seconds:.3g}") for each in measured}}
        path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        print(f"{path.name} is the baseline of this processor now")
        return 0
    if not known:
        print(f"\nThere is no baseline of {processor}: python -m bench.quick {given.result} --keep writes one.")
        return 0
    print(f"\n{slower or 'nothing'} slower than the baseline of {processor} by a half or more")
    return int(slower > 0)


if __name__ == "__main__":
    run_program(main)
