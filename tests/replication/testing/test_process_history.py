"""Random histories of brokers that are processes: nothing acknowledged is lost, and `plan` foretells what is cut."""

import os
from pathlib import Path
from shutil import rmtree

from tests.campaign import Campaign
from tests.replication.testing.cluster_history import run_history
from tests.replication.testing.process_history import ProcessHistory

STEPS = 12
REPEAT_BY = "HISTORY_SEED={seed} .venv/bin/python -m pytest tests/replication/testing/test_process_history.py"


def test_nothing_acknowledged_is_lost_whatever_happens_to_the_processes(tmp_path: Path) -> None:
    """`HISTORY_SEED=N` repeats one history."""
    campaign = Campaign("histories of brokers as processes", full=200, share=2)
    first, count = campaign.seed * 1_000, campaign.count
    if "HISTORY_SEED" in os.environ:
        first, count = int(os.environ["HISTORY_SEED"]), 1
    records, plans = 0, []
    for seed in range(first, first + count):
        directory = tmp_path / str(seed)
        acknowledged, history = run_history(
            directory, seed, STEPS, repeat_by=REPEAT_BY, processes=True, history_of=ProcessHistory
        )
        records += acknowledged
        plans += [each for each in history.truncations.plans if each.is_judged]
        rmtree(directory)
    cut = sum(each.is_cut for each in plans)
    campaign.report(count, f"{records:,} records, {len(plans):,} plans came true, {cut:,} of them with a truncation")
