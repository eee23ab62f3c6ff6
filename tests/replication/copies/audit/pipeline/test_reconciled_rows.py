"""Random logs beside random tables: each offset and each row has the status that follows from what became of it."""

import random
from collections import Counter
from pathlib import Path

import pyarrow as pa

from replication.copies.audit.pipeline.reconciled_rows import ReconciledRows
from replication.copies.reconcile.row_counter import count_rows
from replication.explain import Why
from tests.campaign import Campaign
from tests.replication.copies.explain.random_log import TOPIC, RandomLog

LOGS = Campaign("reconcile: random logs beside random tables", full=5_000, share=100)
STATUS_OF_ROW = {
    Why.EXPIRED: "before-log-start",
    Why.REMOTE: "unread",
    Why.MISSING: "unread",
    Why.UNREADABLE: "unread",
}
"""Where it is another word than what became of the offset."""
COLUMNS = {"topic": pa.string(), "partition": pa.int32(), "offset": pa.int64(), "leader_epoch": pa.int32()}


def runs_of(offsets: list[int]) -> list[pa.RecordBatch]:
    rows = [{"topic": TOPIC, "partition": 0, "offset": offset} for offset in offsets]
    runs = list(count_rows([pa.RecordBatch.from_pylist(rows, schema=pa.schema(COLUMNS))]))
    mark = {"topic": TOPIC, "partition": 0, "leader_epoch": -1, "bucket": 0, "copies": 0}
    mark |= {"first_offset": -1, "last_offset": -1}
    return [*runs, pa.RecordBatch.from_pylist([mark], schema=runs[0].schema)]


def test_nothing_is_called_missing_or_wrong_that_is_not(tmp_path: Path) -> None:
    rng = random.Random(LOGS.seed)
    statuses: Counter[str] = Counter()
    for number in range(LOGS.count):
        log = RandomLog(rng, tmp_path / str(number))
        log.make()
        committed_only = rng.random() < 0.8
        truth = log.truth(committed_only=committed_only)
        copies = Counter({offset: rng.choice([0, 1, 1, 1, 2]) for offset in range(len(truth) + 3)})
        rows = ReconciledRows(
            [str(each) for each in log.sources],
            "broker-1",
            committed_only=committed_only,
            has_remote=log.has_remote,
            window=rng.choice([None, 1, 1_000]),
        )
        found: dict[int, tuple[str, int]] = {}
        for row in (row for batch in rows.batches(runs_of(list(copies.elements()))) for row in batch.to_pylist()):
            assert row["error"] is None, f"seed {LOGS.seed}, log {number}: {row['error']}"
            for offset in range(row["first_offset"], row["last_offset"] + 1):
                assert offset not in found
                found[offset] = row["status"], row["copies"]
        expected = {}
        for offset, why in enumerate([*truth, *[Why.NEVER_WRITTEN] * 3]):
            status = STATUS_OF_ROW.get(why, why.value)
            if copies[offset] == 0:
                status = "missing" if why is Why.DELIVERED else status
            if copies[offset] or why is not Why.NEVER_WRITTEN:
                expected[offset] = status, copies[offset]
        assert found == expected, f"seed {LOGS.seed}, log {number}"
        statuses.update(status for status, _ in found.values())
        log.remove()
    assert {*statuses} == {
        *("delivered", "missing", "control-marker", "aborted-transaction", "open-transaction", "compacted"),
        *("truncated", "before-log-start", "unread", "never-written"),
    }
    LOGS.report(LOGS.count, f"logs: {', '.join(f'{count:,} {each}' for each, count in sorted(statuses.items()))}")
