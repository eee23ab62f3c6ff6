"""Turn results into the measured part of docs/performance.md and its pictures.

    python -m bench.report build/bench/results/*.json

The results are those of bench.limits, bench.peer, bench.scaling and of `pytest --benchmark-json`, in any number; those
of several runs are put together. The page has three parts: what the programs measured; apart from that, what they
measured beside other stores and clients of Python programs; and what the suites did. A part without results stays as it
is. Targets, and why one is missed, stand in bench/targets.toml.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Final

from bench.command_line import run_program
from bench.report.curve import curves, read_reasons
from bench.report.evidence import Evidence, gather
from bench.report.page import PROGRAMS, PYTHON, SUITES, Page, of_programs, of_python, of_suites
from bench.report.pictures import draw
from bench.report.targets import TARGETS, Target, Verdict, judge, read_targets
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
    if (found := evidence.of_kafka).runs:
        aims = [target for target in targets if not target.benchmark and not target.is_of_python]
        grown = curves(found, reasons)
        drawn = draw(found, aims, grown, given.page.parent / "pictures")
        names = {name: os.path.relpath(path, given.page.parent) for name, path in drawn.items()}
        page = page.having(PROGRAMS, of_programs(found, aims, grown, names))
        print(f"what the programs measured: {_counted(aims, found)}")
    if (found := evidence.of_python).runs:
        aims = [target for target in targets if target.is_of_python]
        page = page.having(PYTHON, of_python(found, aims))
        print(f"what was measured beside other stores and clients: {_counted(aims, found)}")
    if (found := evidence.of_suites).runs:
        aims = [target for target in targets if target.benchmark]
        page = page.having(SUITES, of_suites(found, aims))
        print(f"what the suites measured: {_counted(aims, found)}")
    given.page.write_text(page.text)
    print(f"{given.page.name} is written")
    return 0


def _counted(aims: list[Target], evidence: Evidence) -> str:
    verdicts = [judge(target, evidence).verdict for target in aims]
    return ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in Verdict)


if __name__ == "__main__":
    run_program(main)
