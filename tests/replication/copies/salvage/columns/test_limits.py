"""How much is looked at, remembered and compared at once changes nothing of what is salvaged."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from logstore.kernels.digest import FIRST_SEED, digest_key
from replication.salvage import ConflictRule, SalvageOptions, plan_salvage
from tests.campaign import Campaign
from tests.replication.copies.salvage.history import TOPIC, History

HISTORIES = Campaign("salvage: random histories within tight limits", full=600, share=60)
COLUMNS = "replication.copies.salvage.columns"


def colliding(records: Any, seed: np.uint64) -> Any:
    """Digests of which many keys share each, until another seed is tried."""
    return digest_key(records, seed) % np.uint64(2 if seed == FIRST_SEED else 2**63)


@pytest.mark.parametrize(
    ("place", "limit"),
    [
        (f"{COLUMNS}.batch_run.MOST_BATCHES", 1),
        (f"{COLUMNS}.batch_run.MOST_BATCHES", 2),
        ("logstore.offline.columns.decoded_records.RECORDS_AT_ONCE", 1),
        ("replication.copies.salvage.own_batches.MOST_REMEMBERED", 0),
        (f"{COLUMNS}.key_writes.digest_key", colliding),
    ],
)
def test_what_is_salvaged_does_not_depend_on_limits(
    place: str, limit: int | Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rng = random.Random(HISTORIES.seed)
    count, salvaged = HISTORIES.count // 5, 0
    for number in range(count):
        history = History(rng, tmp_path / str(number), rng.choice([2, 3, 3]), keyed=rng.choice([0.05, 0.3]))
        history.run(steps=rng.randint(5, 120))
        compacted = frozenset({TOPIC} if rng.random() < 0.3 else ())
        options = SalvageOptions(rng.choice(list(ConflictRule)), rng.random() < 0.3, compacted)
        plan = plan_salvage(history.roots, rng.choice(history.roots).name, options)
        expected = list(plan.records()), list(plan.reports())
        with monkeypatch.context() as patch:
            patch.setattr(place, limit)
            assert (list(plan.records()), list(plan.reports())) == expected
        salvaged += len(expected[0])
    HISTORIES.report(count, f"{salvaged:,} records salvaged")
