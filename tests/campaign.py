"""How much of each campaign a run does: a rotating, seeded share by default, all of it with CAMPAIGN=full.

A campaign is a test over many random inputs whose full count would take too long for every run. Each test asks
`Campaign(name, full=...)` for its count and its seed. The seed changes eleven times a day unless CAMPAIGN_SEED fixes
it, so that successive runs cover different inputs, and a failure can be repeated from the printed seed.
`python -m tests.campaign` prints the seed of now, for a run of several programs.
"""

import os
import time
from dataclasses import dataclass, field

DAY_SECONDS = 86_400
SEEDS_A_DAY = 11
"""Shares are taken by the remainder of the seed: whoever runs the tests once a day meets all of them too, as 11 has no
divisor in common with any number of shares."""
REPORT: list[str] = []
"""What the campaigns of the running test did, one line each; conftest takes them into the report of the test."""


def run_seed() -> int:
    """The seed of this run: CAMPAIGN_SEED, or the number of this eleventh of a day."""
    return int(os.environ.get("CAMPAIGN_SEED", int(time.time()) * SEEDS_A_DAY // DAY_SECONDS))


def is_full() -> bool:
    """Whether this run does all of each campaign."""
    return os.environ.get("CAMPAIGN") == "full"


@dataclass(frozen=True)
class Campaign:
    """`full` inputs in all; `share` of them in a normal run."""

    name: str
    full: int
    share: int
    seed: int = field(default_factory=run_seed)

    @property
    def count(self) -> int:
        """How many inputs this run tries."""
        return self.full if is_full() else min(self.share, self.full)

    def report(self, tried: int, note: str = "", *, beside: object = "") -> None:
        """Put what was done on the list that is printed at the end of the run, and beside which Kafka it was done."""
        told = [f"{tried:,} of {self.full:,} inputs", f"seed {self.seed}", str(beside), note]
        REPORT.append(f"{self.name}: {', '.join(filter(None, told))}")


if __name__ == "__main__":
    print(run_seed())  # noqa: T201 - its job is to print
