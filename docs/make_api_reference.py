"""Writes docs/api.md from what the packages offer: `python docs/make_api_reference.py`."""  # noqa: INP001  a script

import inspect
from importlib import import_module
from pathlib import Path
from typing import Final

PAGE = Path(__file__).parent / "api.md"
MODULES: Final = {
    "epoch": "Who led when, and what a follower truncates.",
    "epoch.bulk": "The same for many partitions at once. Importing it loads numba.",
    "logstore": "Kafka's files on disk. Each name loads its module on first use.",
    "logstore.verify": "Every file of a replica against every other.",
    "replication": "Following leaders over Kafka's protocol.",
    "replication.broker": "A broker's registration, heartbeats and metadata.",
    "replication.planning": "What replicas would truncate, and who should lead.",
    "replication.quorum_recovery": "Which copy of the controllers' metadata to restore from.",
    "replication.node": "One broker, wherever its controller is. Each name loads its module on first use.",
    "replication.repair": "A damaged copy healed from other replicas. Each name loads its module on first use.",
    "replication.explain": "Why an offset is not there. Each name loads its module on first use.",
    "replication.salvage": "What losing copies hold and the kept one lacks. Each name loads its module on first use.",
    "replication.serving": "Copies of brokers, read by Kafka clients. Each name loads its module on first use.",
    "replication.standalone": "A broker that is its own controller. Each name loads its module on first use.",
    "replication.testing": "Clusters to test clients against. Each name loads its module on first use.",
    "replication.transactions": "Hanging transactions, and broken ones. Each name loads its module on first use.",
    "replication.audit": "Whether copies of partitions agree. What needs Spark loads it on first use.",
}
WITHOUT_ALL: Final = {"epoch.bulk": ("EndOffsets", "EpochTable")}
"""The public names of modules that have no `__all__`."""
WITHOUT_DOCSTRING: Final = {
    "UNDEFINED_END_OFFSET": "The answer of a leader that does not know the requested epoch: -1, -1.",
    "UNDEFINED_EPOCH": "No epoch is known: -1.",
    "UNDEFINED_EPOCH_OFFSET": "No end offset is known: -1.",
    "CLIENT": "Who produces to a simulated cluster, among its nodes: -2.",
    "CONTROLLER": "The controller, among the nodes of a cluster for tests: -1.",
    "Batch": "A batch of any magic: `RecordBatch` or `LegacyBatch`.",
}
HEAD = """\
# API

This page is made from the docstrings by `docs/make_api_reference.py`. Do not edit it by hand.

These names are public, and `help(name)` tells more about each. Modules that are not listed, and names that begin with
an underscore, may change at any time. All packages carry type information.

Offsets, epochs and sizes are plain `int`. Timestamps are milliseconds since 1970 UTC. Errors are each package's own and
a fitting builtin too: `CorruptBatchError` is a `LogStoreError` and a `ValueError`. A missing or unreadable file is an
`OSError`.
"""


def public_names(module: str) -> tuple[str, ...]:
    """Return what a module offers, in alphabetical order without regard to case."""
    names = WITHOUT_ALL.get(module) or import_module(module).__all__
    return tuple(sorted(names, key=str.casefold))


def reference() -> str:
    """Return the page."""
    return "\n".join([HEAD, *(_section(module, meaning) for module, meaning in MODULES.items())])


def _section(module: str, meaning: str) -> str:
    rows = [f"| `{name}` | {_summary(module, name)} |" for name in public_names(module)]
    return "\n".join([f"## `{module}`", "", meaning, "", "| name | |", "|---|---|", *rows, ""])


def _summary(module: str, name: str) -> str:
    if name in WITHOUT_DOCSTRING:
        return WITHOUT_DOCSTRING[name]
    docstring = inspect.getdoc(getattr(import_module(module), name)) or ""
    return docstring.split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(reference())
