"""Whether copies of partitions agree: what differs between brokers' snapshots, and what each difference would cost.

>>> from replication.audit import audit, start_session
>>> with audit(start_session(), ["/backup/broker-1", "/backup/broker-2"]) as audited:
...     audited.partitions.where("verdict != 'identical'").show()

Names load their modules on first use; only `audit`, `explain_offsets`, `prepare_session`, `salvage` and
`start_session` need Spark.
"""

from replication.lazy_names import lazy_names

_NAMES_BY_MODULE = {
    "pipeline.audit_outcome": ("AuditOutcome",),
    "spark.audit_result": ("Audit",),
    "spark.auditing": ("audit",),
    "spark.salvaging": ("SparkSalvage", "salvage"),
    "spark.explain_job": ("explain_offsets",),
    "judgement.judgement": ("judge",),
    "local.auditing": ("audit_locally",),
    "local.local_audit": ("LocalAudit",),
    "local_judging": ("JudgedPartition", "judge_replicas"),
    "judgement.recommendation": ("Candidate", "Recommendation"),
    "spark.sessions.session": ("prepare_session", "start_session"),
    "snapshots.snapshot": ("Snapshot", "find_snapshots"),
    "judgement.verdict": ("PairVerdict", "PartitionVerdict", "Verdict"),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}
__all__ = sorted(_MODULES)  # noqa: PLE0605  the list that the names are loaded by
__getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return list(__all__)
