"""Random histories of a simulated cluster: what was acknowledged stays, once and in order, and the replicas agree."""

import gc
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.campaign import Campaign
from tests.replication.testing.simulated_faults import FAULTS, Planted
from tests.replication.testing.simulated_history import run_history

MOST_SEEDS = 300


@pytest.fixture(autouse=True)
def _silence(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="epochlog")
    caplog.set_level(logging.CRITICAL, logger="logstore")


@contextmanager
def collecting_less() -> Iterator[None]:
    """Let no collection of garbage look at all modules again."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def test_nothing_committed_is_lost_whatever_happens_to_a_simulated_cluster() -> None:
    """`SIMULATED_SEED=N` repeats one history."""
    campaign = Campaign("histories of a simulated cluster", full=100_000, share=100)
    first, count = campaign.seed * 1_000_000, campaign.count
    if "SIMULATED_SEED" in os.environ:
        first, count = int(os.environ["SIMULATED_SEED"]), 1
    records = milliseconds = 0
    with collecting_less():
        for seed in range(first, first + count):
            outcome = run_history(seed)
            records += outcome.records
            milliseconds += outcome.clock_ms
    campaign.report(count, f"{records:,} records, {milliseconds // 1_000:,} simulated seconds")


@pytest.mark.parametrize("planted", FAULTS.values(), ids=FAULTS)
def test_histories_notice(planted: Planted) -> None:
    with planted.fault(), pytest.raises(AssertionError):
        _run(planted.seed, MOST_SEEDS)


def _run(first: int, count: int) -> None:
    for seed in range(first, first + count):
        run_history(seed)


def test_a_history_repeats_itself() -> None:
    once, again = run_history(5), run_history(5)
    assert once == again
    assert once.digest != run_history(6).digest
