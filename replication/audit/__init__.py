"""Whether copies of partitions agree: what differs between brokers' snapshots, and what each difference would cost.

>>> from replication.audit import audit, start_session
>>> with audit(start_session(), ["/backup/broker-1", "/backup/broker-2"]) as audited:
...     audited.partitions.where("verdict != 'identical'").show()

Names load their modules on first use; only `audit`, `prepare_session` and `start_session` need Spark.
"""

from importlib import import_module
from typing import Any

_NAMES_BY_MODULE = {
    "spark.auditing": ("Audit", "audit"),
    "judgement.judgement": ("judge",),
    "local_judging": ("JudgedPartition", "judge_replicas"),
    "judgement.recommendation": ("Candidate", "Recommendation"),
    "spark.session": ("prepare_session", "start_session"),
    "snapshots.snapshot": ("Snapshot", "find_snapshots"),
    "judgement.verdict": ("PairVerdict", "PartitionVerdict", "Verdict"),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}
__all__ = sorted(_MODULES)  # noqa: PLE0605  the list that the names are loaded by


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
