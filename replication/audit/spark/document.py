"""An audit as one object: what `epochlog audit --json` prints, and what the report and the history are made of."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from logstore.verify import Severity
from replication.audit.snapshots.snapshot import Snapshot
from replication.audit.spark.stranded_offsets import stranded

SEVERITIES = tuple(severity.value for severity in Severity)
"""The worst first."""


class AuditedTables(NamedTuple):
    """What is collected of an audit."""

    partitions: DataFrame
    findings: DataFrame


def describe(
    spark: SparkSession,
    tables: AuditedTables,
    named: Sequence[str | Path],
    snapshots: Sequence[Snapshot],
    *,
    begun: float,
    size: int,
    tasks: int,
) -> dict[str, Any]:
    """Let Spark do the audit, and collect partitions, findings and consumer offsets, but no batches.

    `named` are the snapshots as `audit` took them; the audit has `begun` at that time, in seconds since 1970 UTC. Keys:
    `partitions`, `findings`, `consumer_offsets`, `snapshots`, `history` (None until it is compared with an earlier
    run), and `metrics`, among them the `size` of the logs in bytes and the number of `tasks`.
    """
    partitions = [row.asDict(recursive=True) for row in tables.partitions.collect()]
    partitions.sort(key=lambda each: (each["topic"], each["partition"]))
    findings = [row.asDict() for row in tables.findings.collect()]
    offsets = stranded(spark, named, partitions)
    findings += [each.finding().as_json() for each in offsets]
    findings.sort(key=_worst_first)
    seconds = time.time() - begun
    return {
        "partitions": partitions,
        "findings": findings,
        "consumer_offsets": [each.as_json() for each in offsets],
        "snapshots": [_snapshot(each) for each in snapshots],
        "history": None,
        "metrics": {
            "time": begun,
            "bytes": size,
            "seconds": round(seconds, 3),
            "bytes_per_second": round(size / seconds),
            "partitions": len(partitions),
            "copies": sum(len(each["branches"]) for each in partitions),
            "tasks": tasks,
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
