"""The audit's own functions in one process: what Spark must give too."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from replication.copies.audit.examination.copy_examiner import Examiner
from replication.copies.audit.pipeline.partition_rows import finish_rows, judge_rows
from replication.copies.audit.snapshots.snapshot import Snapshot, find_snapshots
from replication.copies.audit.snapshots.work import Job, Task, packed, plan_work, unpacked
from replication.copies.audit.tables import EXAMINED

Rows = list[dict[str, Any]]


def plan(snapshots: Sequence[Snapshot], target: int = 1 << 30) -> list[Task]:
    roots = [Job(snapshot.name, root.storage.uri) for snapshot in snapshots for root in snapshot.roots]
    copies = [Job(copy.replica, copy.root, copy) for snapshot in snapshots for copy in snapshot.copies()]
    return [unpacked(packed(task)) for task in plan_work([*roots, *copies], target)]


def examine_tasks(tasks: Sequence[Task], *, records: bool = False) -> Rows:
    """One row a copy or root, those read in parts finished."""
    rows = [{**dict.fromkeys(EXAMINED), **Examiner(records=records).row(job)} for task in tasks for job in task]
    parts: defaultdict[str, Rows] = defaultdict(list)
    for row in rows:
        if row["is_part"]:
            parts[row["copy"]].append(row)
    finished = [finish_rows(of_copy, Examiner(records=records)) for of_copy in parts.values()]
    return [{**dict.fromkeys(EXAMINED), **row} for row in (*(row for row in rows if not row["is_part"]), *finished)]


def judge_all(rows: Rows) -> tuple[Rows, Rows]:
    """The tables `partitions` and `findings`."""
    copies: defaultdict[tuple[str, int], Rows] = defaultdict(list)
    for row in rows:
        if row["topic"] is not None:
            copies[row["topic"], row["partition"]].append(row)
    judged = [judge_rows(of_partition, {}, {}) for _, of_partition in sorted(copies.items())]
    findings = [finding for row in (*rows, *judged) for finding in row["findings"] or ()]
    return [{name: row[name] for name in row if name != "findings"} for row in judged], findings


def audit_here(*paths: Path, target: int = 1 << 30, records: bool = False) -> tuple[Rows, Rows]:
    return judge_all(examine_tasks(plan(find_snapshots(paths), target), records=records))


def told(findings: Rows) -> list[tuple[str, ...]]:
    """Findings without order."""
    return sorted(tuple(map(str, finding.values())) for finding in findings)
