"""Figures that no peer gives, which the suites measure: none may be worse than its floor, in the figure's own unit."""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from bench.floor_finding import Finding, tried
from bench.report.evidence import Evidence, gather
from bench.report.figures import digits, exactly
from bench.report.targets import Judgement, Target, judge, read_targets
from bench.results import ROOT

TABLE: Final = "figure"

Again = Callable[[str], Evidence]
"""Runs one benchmark once more."""


def read_figure_floors(path: Path) -> list[Target]:
    """Read the floors of figures. Raises ValueError for one that is of no benchmark."""
    floors = read_targets(path, TABLE)
    for floor in floors:
        if not floor.benchmark:
            raise ValueError(f"{path}: {floor.what}: a floor of a figure names a benchmark")
    return floors


def check_figures(floors: list[Target], evidence: Evidence, again: Again, *, complete: bool) -> Iterator[Finding]:
    """Hold what suites measured against floors; `complete` lets no benchmark be skipped and none be missing."""
    if floors and not evidence.of_suites.runs:
        yield Finding("suites", "were not measured: no result of theirs is given", fails=complete, is_measured=False)
        return
    for floor in floors:
        judged = judge(floor, evidence)
        name = f"{floor.benchmark.partition('::')[2]}, {floor.figure}"
        if judged.skipped:
            yield Finding(name, f"was skipped: {judged.skipped}", fails=complete, is_measured=False)
        elif not judged.values:
            yield Finding(name, "has a floor, and no figure in the results")
        else:
            yield _judged(name, judged, again)


def _judged(name: str, judged: Judgement, again: Again) -> Finding:
    floor = judged.target
    values = tried(judged.values, floor.holds, lambda: judge(floor, again(floor.benchmark)).values)
    bound = "at least" if floor.at_least is not None else "at most"
    told = f"{', '.join(map(digits, values))}; the floor is {bound} {exactly(floor.aim)}"
    return Finding(name, told, fails=not any(map(floor.holds, values)))


def run_again(benchmark: str) -> Evidence:
    """Run one benchmark of a suite once more."""
    print(f"measuring again: {benchmark}", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        result = Path(directory) / "suite.json"
        options = ["--benchmark-enable", f"--benchmark-json={result}"]
        command = [sys.executable, "-m", "pytest", benchmark, *options]
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
        return gather([result])
