"""Mutation testing: which faults would the tests notice? `make mutants SHARE=20` tries a twentieth, by the seed.

Each fault must be noticed by the tests of its file, without Java. What need not be is listed in docs/reliability.md.
"""

import argparse
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory

from logstore.warming.first_calls import first_calls
from tests.campaign import run_seed
from tests.mutants.listed import listed
from tests.mutants.mutant import Mutant, mutants
from tests.mutants.reach import Function, Reach, read_reaches
from tests.mutants.targets import TARGETS
from tests.mutants.trial import Outcome, Trial, collect, outcomes

MOST_SECONDS = 600.0
"""Of a file of tests without a fault, while it is watched what they reach."""
LEAST_SECONDS = 10.0
"""Of the tests of a mutant, beside three times what they take without it."""

Outcomes = Mapping[str, Counter[Outcome]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", default=[*TARGETS], help="files to put faults into; all by default")
    parser.add_argument("--shares", type=int, default=1, help="try one of so many shares of the faults")
    parser.add_argument("--seed", type=int, default=run_seed(), help="says which share; that of the run by default")
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
    tried = outcomes(trials(chosen, reaches(tests, options.workers)), options.workers)
    return int(report(tell(tried)) < options.least)


def reaches(tests: Iterable[str], workers: int) -> list[Reach]:
    """Run the tests without a fault; return what each of them reaches, the fastest first."""
    with TemporaryDirectory() as place:
        notes = {test: Path(place, str(number)) for number, test in enumerate(tests)}
        sound = (Trial((test,), MOST_SECONDS, watched=(*TARGETS,), notes=notes[test]) for test in notes)
        failed = [trial.files[0] for trial, outcome, _ in outcomes(sound, workers) if outcome is not Outcome.SURVIVED]
        if failed:
            raise SystemExit(f"without any fault these fail: {' '.join(failed)}; CAMPAIGN_SEED={run_seed()} repeats it")
        found = [each for test in notes for each in read_reaches(notes[test])]
    return sorted(found, key=attrgetter("seconds"))


def trials(chosen: Iterable[Mutant], found: Iterable[Reach]) -> Iterator[Trial]:
    """Say which tests each mutant is tried on: those of its file's tests that reach its function."""
    reaching = defaultdict[Function, list[Reach]](list)
    for each in found:
        for function in each.functions:
            if each.file in TARGETS[function.file]:
                reaching[function].append(each)
    for mutant in chosen:
        tests = reaching[Function(mutant.file, mutant.function)]
        seconds = LEAST_SECONDS + 3 * sum(each.seconds for each in tests)
        files = tuple(dict.fromkeys(each.file for each in tests))
        yield Trial(files, seconds, mutant, tuple(each.test for each in tests))


def tell(tried: Iterable[tuple[Trial, Outcome, float]]) -> Outcomes:
    """Count what became of the mutants, and tell of each that no test noticed."""
    reasons, counts = listed(), defaultdict[str, Counter[Outcome]](Counter)
    for trial, found, _ in tried:
        mutant = trial.mutant
        assert mutant is not None
        outcome = Outcome.LISTED if found is Outcome.SURVIVED and mutant.name in reasons else found
        counts[mutant.file][outcome] += 1
        if outcome is not Outcome.KILLED:
            reached = "" if trial.tests else ", which no test reaches"
            print(f"{outcome}: line {mutant.line} of {mutant.name}{reached}", flush=True)
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
