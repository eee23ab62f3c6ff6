"""An audit as one object: what `epochlog audit --json` prints, and what the report and the history are made of."""

import time
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Self

from logstore.verify import Severity
from replication.base.json_object import SCHEMA_VERSION
from replication.copies.audit.pipeline.audit_plan import AuditPlan
from replication.copies.audit.pipeline.internal_topics import Stranded
from replication.copies.audit.pipeline.live_reading import LiveReading
from replication.copies.audit.snapshots.remote.traffic import Traffic
from replication.copies.audit.snapshots.snapshot import Snapshot

SEVERITIES = tuple(severity.value for severity in Severity)
"""The worst first."""
Json = dict[str, Any]
_MICROSECONDS: Final = 1_000_000


class BytesRead(NamedTuple):
    """How much of the `.log` files a run has read, beside what its history spares."""

    bytes: int
    oldest: int | None
    """When the bytes were read that were read first, in microseconds since 1970 UTC; None where there are none."""

    @classmethod
    def all_of(cls, plan: AuditPlan) -> Self:
        """Return what an audit without a history reads."""
        return cls(plan.bytes, None)


def describe(
    plan: AuditPlan,
    partitions: Sequence[Json],
    findings: Sequence[Json],
    stranded: Stranded,
    read: BytesRead,
    live: LiveReading | None = None,
    fetched: Traffic | None = None,
) -> Json:
    """Put the results of an audit together: the rows of `partitions` and of all findings, and who is left behind.

    Keys: `schema_version`, `partitions`, `findings`, `consumer_offsets`, `hanging_transactions`, `left_out`,
    `snapshots`, `live` (None of snapshots), `history` (None until it is compared with an earlier run), `metrics`, and
    `errors`, the files that could not be written, of which a command may add some.
    """
    if plan.options.mask is not None:
        stranded = stranded.masked(plan.options.mask)
    partitions = sorted(partitions, key=lambda each: (each["topic"], each["partition"]))
    findings = sorted([*findings, *stranded.findings()], key=_worst_first)
    seconds = time.time() - plan.begun
    return {
        "schema_version": SCHEMA_VERSION,
        "partitions": partitions,
        "findings": findings,
        "consumer_offsets": [each.as_json() for each in stranded.offsets],
        "hanging_transactions": [each.as_json() for each in stranded.transactions],
        "left_out": plan.left_out,
        "snapshots": [_snapshot(each) for each in plan.snapshots],
        "live": live.as_json() if live else None,
        "history": None,
        "metrics": {
            "time": plan.begun,
            "bytes": plan.bytes,
            "bytes_read": read.bytes,
            "bytes_fetched": None if fetched is None else fetched.bytes,
            "requests": None if fetched is None else fetched.requests,
            "oldest_read": plan.begun if read.oldest is None else min(read.oldest / _MICROSECONDS, plan.begun),
            "seconds": round(seconds, 3),
            "bytes_per_second": round(plan.bytes / seconds),
            "partitions": len(partitions),
            "copies": sum(len(each["branches"]) for each in partitions),
            "tasks": len(plan.tasks),
            **{f"findings_{severity}": _count(findings, severity) for severity in SEVERITIES},
        },
        "errors": [],
    }


def _snapshot(snapshot: Snapshot) -> Json:
    copies = list(snapshot.copies())
    return {
        "name": snapshot.name,
        "roots": [root.storage.shown for root in snapshot.roots],
        "node_id": next((root.node_id for root in snapshot.roots if root.node_id is not None), None),
        "cluster_id": next((root.cluster_id for root in snapshot.roots if root.cluster_id is not None), None),
        "clean_shutdown": all(root.clean_stop is not None for root in snapshot.roots),
        "partitions": len(copies),
        "bytes": sum(copy.bytes for copy in copies),
    }


def _count(findings: Sequence[Json], severity: str) -> int:
    return sum(finding["severity"] == severity for finding in findings)


def _worst_first(finding: Json) -> tuple[int, str, int, str, str, int]:
    return (
        SEVERITIES.index(finding["severity"]),
        finding["topic"] or "",
        -1 if finding["partition"] is None else finding["partition"],
        finding["replica"],
        finding["kind"],
        -1 if finding["offset"] is None else finding["offset"],
    )
