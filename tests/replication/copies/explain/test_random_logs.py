"""In any log, each offset is explained as what became of it: no loss is missed, and none is invented."""

import random
from collections import Counter
from functools import partial
from pathlib import Path

from replication.explain import Explanation, Why, explain
from tests.campaign import Campaign
from tests.replication.copies.explain.random_log import PARTITION, RandomLog

PLANTED = Campaign("explain: planted losses and look-alikes", full=100_000, share=2_000)


def test_no_loss_is_missed_and_none_is_invented(tmp_path: Path) -> None:
    rng = random.Random(PLANTED.seed)
    planted: Counter[Why] = Counter()
    logs = 0
    while planted.total() < PLANTED.count:
        logs += 1
        log = RandomLog(rng, tmp_path / str(logs))
        log.make()
        committed_only = rng.random() < 0.8
        truth = log.truth(committed_only=committed_only)
        explained = partial(
            explain, PARTITION, log.sources, leader="broker-1", committed_only=committed_only, has_remote=log.has_remote
        )
        explanation = explained()
        assert expanded(explanation) == truth, f"seed {PLANTED.seed}, log {logs}: {differences(explanation, truth)}"
        planted.update(log.planted(truth))
        start = rng.randint(0, len(truth))
        end = rng.randint(start, len(truth))
        part = explained(start=start, end=end)
        assert expanded(part) == truth[start:end], f"seed {PLANTED.seed}, log {logs}: from {start} to {end}"
        log.remove()
    assert {*Why} - {Why.DELIVERED, Why.NEVER_WRITTEN, Why.UNCOMMITTED, Why.BEYOND} <= planted.keys()
    told = ", ".join(f"{count:,} {why}" for why, count in sorted(planted.items()) if count)
    PLANTED.report(planted.total(), f"in {logs:,} logs: {told}")


def expanded(explanation: Explanation) -> list[Why]:
    """One reason for each offset; that they follow each other is checked by the way."""
    whys: list[Why] = []
    for each in explanation.ranges:
        assert each.first_offset == explanation.start + len(whys)
        whys += [each.why] * each.offsets
    return whys


def differences(explanation: Explanation, truth: list[Why]) -> list[tuple[int, str, str]]:
    found = expanded(explanation)
    length = max(len(found), len(truth))
    theirs, ours = ([*whys, *["nothing"] * (length - len(whys))] for whys in (truth, found))
    return [(offset, str(a), str(b)) for offset, (a, b) in enumerate(zip(theirs, ours, strict=True)) if a != b][:10]
