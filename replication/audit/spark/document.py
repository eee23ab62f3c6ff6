"""An audit as one object: what `epochlog audit --json` prints, and what the report and the history are made of."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from logstore.verify import Severity
from replication.audit.snapshots.snapshot import Snapshot
from replication.audit.spark.auditing import Audit
from replication.audit.spark.stranded_offsets import stranded

SEVERITIES = tuple(severity.value for severity in Severity)
"""The worst first."""


def describe(spark: SparkSession, audited: Audit, snapshots: Sequence[str | Path]) -> dict[str, Any]:
    """Let Spark do the audit, and collect partitions, findings and consumer offsets, but no batches.

    `snapshots` are those that were audited, as `audit` took them. Keys: `partitions`, `findings`, `consumer_offsets`,
    `snapshots`, `history` (None until it is compared with an earlier run), and `metrics` with `time` in seconds since
    1970 UTC.
    """
    partitions = [row.asDict(recursive=True) for row in audited.partitions.collect()]
    partitions.sort(key=lambda each: (each["topic"], each["partition"]))
    findings = [row.asDict() for row in audited.findings.collect()]
    offsets = stranded(spark, snapshots, partitions)
    findings += [each.finding().as_json() for each in offsets]
    findings.sort(key=_worst_first)
    seconds = time.time() - audited.begun
    return {
        "partitions": partitions,
        "findings": findings,
        "consumer_offsets": [each.as_json() for each in offsets],
        "snapshots": [_snapshot(each) for each in audited.snapshots],
        "history": None,
        "metrics": {
            "time": audited.begun,
            "bytes": audited.bytes,
            "seconds": round(seconds, 3),
            "bytes_per_second": round(audited.bytes / seconds),
            "partitions": len(partitions),
            "copies": sum(len(each["branches"]) for each in partitions),
            "tasks": len(audited.tasks),
            **{f"findings_{severity}": _count(findings, severity) for severity in SEVERITIES},
        },
    }


def _snapshot(snapshot: Snapshot) -> dict[str, Any]:
    copies = list(snapshot.copies())
    return {
        "name": snapshot.name,
        "roots": [root.storage.shown for root in snapshot.roots],
        "node_id": next((root.node_id for root in snapshot.roots if root.node_id is not None), None),
        "cluster_id": next((root.cluster_id for root in snapshot.roots if root.cluster_id is not None), None),
        "partitions": len(copies),
        "bytes": sum(copy.bytes for copy in copies),
    }


def _count(findings: Sequence[dict[str, Any]], severity: str) -> int:
    return sum(finding["severity"] == severity for finding in findings)


def _worst_first(finding: dict[str, Any]) -> tuple[int, str, int, str, str, int]:
    return (
        SEVERITIES.index(finding["severity"]),
        finding["topic"] or "",
        -1 if finding["partition"] is None else finding["partition"],
        finding["replica"],
        finding["kind"],
        -1 if finding["offset"] is None else finding["offset"],
    )
