"""Turn results into the measured part of docs/performance.md and its pictures.

    python -m bench.report build/bench/results/*.json

The results are those of bench.limits, bench.peer, bench.scaling and of `pytest --benchmark-json`, in any number; those
of several runs are put together. Targets, and why one is missed, stand in bench/targets.toml.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Final

from bench.command_line import run_program
from bench.report.curve import curves, read_reasons
from bench.report.evidence import gather
from bench.report.page import Page, measured
from bench.report.pictures import draw
from bench.report.targets import TARGETS, Verdict, judge, read_targets
from bench.results import ROOT

PAGE: Final = ROOT / "docs/performance.md"


def main(words: list[str] | None = None) -> int:
    """Write page and pictures, and tell how many targets are reached; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.report", description="Turn results into a page.")
    parser.add_argument("results", nargs="+", type=Path, help="JSON files of what was measured")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page with the marks (default docs/performance.md)")
    parser.add_argument("--targets", type=Path, default=TARGETS, help="the aims (default bench/targets.toml)")
    given = parser.parse_args(words)
    try:
        evidence = gather(given.results)
        targets, reasons = read_targets(given.targets), read_reasons(given.targets)
        page = Page.read(given.page)
    except FileNotFoundError as error:
        print(f"{error.filename}: there is no such file; `make bench` measures and writes results", file=sys.stderr)
        return 2
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    grown = curves(evidence, reasons)
    drawn = draw(evidence, targets, grown, given.page.parent / "pictures")
    names = {name: os.path.relpath(path, given.page.parent) for name, path in drawn.items()}
    given.page.write_text(page.around(measured(evidence, targets, grown, names)))
    verdicts = [judge(target, evidence).verdict for target in targets]
    counted = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in Verdict)
    print(f"{given.page.name} is written. Aims: {counted}.")
    return 0


if __name__ == "__main__":
    run_program(main)
