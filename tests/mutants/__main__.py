"""Mutation testing: which faults would the tests notice? `make mutants SHARE=20` tries the twentieth of this day.

Each fault must be noticed by the tests of its file, without Java. What need not be is listed in docs/reliability.md.
"""

import argparse
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from logstore.warm import first_calls
from tests.campaign import run_seed
from tests.mutants.listed import listed
from tests.mutants.mutant import Mutant, mutants
from tests.mutants.targets import TARGETS
from tests.mutants.trial import Outcome, Trial, collect, outcomes

MOST_SECONDS = 300.0

Outcomes = Mapping[str, Counter[Outcome]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", default=[*TARGETS], help="files to put faults into; all by default")
    parser.add_argument("--shares", type=int, default=1, help="try one of so many shares of the faults")
    parser.add_argument("--seed", type=int, default=run_seed(), help="says which share; the day's number by default")
    parser.add_argument("--least", type=float, default=0.95, help="fail where a smaller part is noticed")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    chosen = [each for file in options.files for each in mutants(file) if each.is_of(options.seed, options.shares)]
    print(f"{len(chosen):,} mutants, seed {options.seed}", flush=True)
    os.environ["CAMPAIGN_SEED"] = str(options.seed)
    tests = sorted({test for mutant in chosen for test in TARGETS[mutant.file]})
    collect(tests)
    for _, call in first_calls():
        call()  # kernels are loaded once, and not in each process anew
    seconds = sound_runs(tests, options.workers)
    return int(report(trial_outcomes(chosen, seconds, options.workers)) < options.least)


def sound_runs(tests: Iterable[str], workers: int) -> dict[str, float]:
    """Run the tests without a fault; return how long each file takes."""
    seconds: dict[str, float] = {}
    for trial, outcome, took in outcomes([Trial((test,), MOST_SECONDS) for test in tests], workers):
        if outcome is not Outcome.SURVIVED:
            raise SystemExit(f"{trial.tests[0]} fails without any fault: run it alone, with the same CAMPAIGN_SEED")
        seconds[trial.tests[0]] = took
    return seconds


def trial_outcomes(chosen: Iterable[Mutant], seconds: Mapping[str, float], workers: int) -> Outcomes:
    """Try each mutant, and tell of each that no test noticed."""
    reasons, counts = listed(), defaultdict[str, Counter[Outcome]](Counter)
    limits = {file: 10 + 3 * sum(seconds.get(test, 0) for test in tests) for file, tests in TARGETS.items()}
    trials = (Trial(TARGETS[mutant.file], limits[mutant.file], mutant) for mutant in chosen)
    for trial, found, _ in outcomes(trials, workers):
        mutant = trial.mutant
        assert mutant is not None
        outcome = Outcome.LISTED if found is Outcome.SURVIVED and mutant.name in reasons else found
        counts[mutant.file][outcome] += 1
        if outcome is not Outcome.KILLED:
            print(f"{outcome}: line {mutant.line} of {mutant.name}", flush=True)
    return counts


def report(counts: Outcomes) -> float:
    """Print a row for each file; return the part that was noticed of what is not listed."""
    columns = list(Outcome)
    print(f"{'':<44}{''.join(f'{each:>10}' for each in columns)}")
    for file in sorted(counts):
        print(f"{file:<44}{''.join(f'{counts[file][each]:>10,}' for each in columns)}")
    total = sum(counts.values(), Counter[Outcome]())
    judged = total.total() - total[Outcome.LISTED]
    share = 1 - total[Outcome.SURVIVED] / max(1, judged)
    print(f"{'all':<44}{''.join(f'{total[each]:>10,}' for each in columns)}{share:>8.1%}")
    return share


if __name__ == "__main__":
    sys.exit(main())
