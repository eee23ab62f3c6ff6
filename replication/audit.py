"""Whether copies of partitions agree: what differs between brokers' snapshots, and what each difference would cost.

>>> from replication.audit import audit, start_session
>>> with audit(start_session(), ["/backup/broker-1", "/backup/broker-2"]) as audited:
...     audited.partitions.where("verdict != 'identical'").show()

Names load their modules on first use; only `audit`, `count_records`, `explain_offsets`,
`prepare_session`, `reconcile`, `salvage` and `start_session` need Spark.
"""

from replication.base.lazy_names import lazy_names

_NAMES_BY_MODULE = {
    "base.errors": (
        "AuditNotCleanError",
        "DifferentClustersError",
        "LogTruncatedError",
        "MissingBrokersError",
        "NoSnapshotError",
        "NotAllowedError",
        "NothingChosenError",
        "NothingInCommonError",
        "SameBrokerError",
        "SnapshotNameError",
        "UnreadableLocationError",
        "WrongTypeError",
    ),
    "copies.audit.judgement.judgement": ("judge",),
    "copies.audit.judgement.recommendation": ("Candidate", "Recommendation"),
    "copies.audit.judgement.verdict": ("PairVerdict", "PartitionVerdict", "Verdict"),
    "copies.audit.local.auditing": ("audit_locally",),
    "copies.audit.local.local_audit": ("LocalAudit",),
    "copies.audit.local_judging": ("JudgedPartition", "judge_replicas"),
    "copies.audit.log_rows.ending_offsets": ("ending_offsets",),
    "copies.audit.pipeline.audit_outcome": ("AuditOutcome",),
    "copies.audit.snapshots.snapshot": ("Snapshot", "find_snapshots"),
    "copies.audit.spark.audit_result": ("Audit",),
    "copies.audit.spark.auditing": ("audit",),
    "copies.audit.spark.count_job": ("count_records",),
    "copies.audit.spark.explain_job": ("explain_offsets",),
    "copies.audit.spark.reconcile_job": ("Reconciliation", "reconcile"),
    "copies.audit.spark.salvaging": ("SparkSalvage", "salvage"),
    "copies.audit.spark.sessions.session": ("prepare_session", "start_session"),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}
__all__ = sorted(_MODULES)  # noqa: PLE0605  the list that the names are loaded by
__getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return list(__all__)
