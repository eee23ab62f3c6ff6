"""Why an offset is not there: delivered, a marker, aborted, compacted, truncated, expired, never written, or missing.

>>> from replication.explain import explain
>>> explanation = explain("orders-0", ["broker-1", "broker-2"])
>>> print(explanation.counts)

Names load their modules on first use.
"""

from replication.base.lazy_names import lazy_names

_NAMES_BY_MODULE = {
    "copies.explain.errors": ("ExplainError", "NoSuchPartitionError", "OffsetsFileError", "UnknownLeaderError"),
    "copies.explain.evidence": ("ExplainedRange",),
    "copies.explain.explaining": ("explain",),
    "copies.explain.explanation": ("Explanation",),
    "copies.explain.got_offsets": ("read_offsets",),
    "copies.explain.sources": ("Sources",),
    "copies.explain.why": ("Why",),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}
__all__ = sorted(_MODULES)  # noqa: PLE0605  the list that the names are loaded by
__getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return list(__all__)
