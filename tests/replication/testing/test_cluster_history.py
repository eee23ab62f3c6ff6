"""Random histories of a cluster: what was acknowledged stays, once and in order, and the replicas agree."""

import logging
import os
from pathlib import Path
from shutil import rmtree

import pytest

from tests.campaign import Campaign
from tests.replication.testing.cluster_history import History, run_history

STEPS = 12
REPEAT_BY = "HISTORY_SEED={seed} .venv/bin/python -m pytest tests/replication/testing/test_cluster_history.py"


def test_nothing_acknowledged_is_lost_whatever_happens_to_the_brokers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """`HISTORY_SEED=N` repeats one history."""
    caplog.set_level(logging.CRITICAL, logger="epochlog")
    campaign = Campaign("histories of a cluster", full=200, share=4)
    first, count = campaign.seed * 1_000, campaign.count
    if "HISTORY_SEED" in os.environ:
        first, count = int(os.environ["HISTORY_SEED"]), 1
    records = 0
    for seed in range(first, first + count):
        acknowledged, _ = run_history(tmp_path / str(seed), seed, STEPS, repeat_by=REPEAT_BY, history_of=History)
        records += acknowledged
        rmtree(tmp_path / str(seed))
    campaign.report(count, f"{records:,} records")
