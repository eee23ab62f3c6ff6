"""Leader epoch histories: which epoch wrote which offsets, where an epoch ends, and what a replica must truncate.

Pure decisions and one small file: no sockets, no log segments. `EpochTable`, the bulk form, loads numba and is
imported from `epoch.bulk` when it is needed.
"""

__distribution__ = "epochlog 0.2.0"
__version__ = __distribution__.partition(" ")[2]

from importlib import import_module
from typing import TYPE_CHECKING, Any

from epoch.base.resource_limits import OutOfMemoryError, ResourceLimitError
from epoch.belonging import ensure_together
from epoch.cache import LeaderEpochFileCache
from epoch.checkpoint import LeaderEpochCheckpoint
from epoch.entry import (
    UNDEFINED_END_OFFSET,
    UNDEFINED_EPOCH,
    UNDEFINED_EPOCH_OFFSET,
    EndOffset,
    EpochEntry,
)
from epoch.errors import (
    CheckpointError,
    EpochError,
    InheritedError,
    InvalidEpochEntryError,
    TruncationOrderError,
    UnknownEpochError,
)
from epoch.history import EpochHistory

if TYPE_CHECKING:
    from epoch.truncation import (
        AskEndOffset,
        Round,
        TruncateTo,
        Truncation,
        TruncationOutcome,
        TruncationProtocol,
        diverging_epoch,
        first_step,
        truncate_against,
        truncation_for,
    )

__all__ = [
    "UNDEFINED_END_OFFSET",
    "UNDEFINED_EPOCH",
    "UNDEFINED_EPOCH_OFFSET",
    "AskEndOffset",
    "CheckpointError",
    "EndOffset",
    "EpochEntry",
    "EpochError",
    "EpochHistory",
    "InheritedError",
    "InvalidEpochEntryError",
    "LeaderEpochCheckpoint",
    "LeaderEpochFileCache",
    "OutOfMemoryError",
    "ResourceLimitError",
    "Round",
    "TruncateTo",
    "Truncation",
    "TruncationOrderError",
    "TruncationOutcome",
    "TruncationProtocol",
    "UnknownEpochError",
    "diverging_epoch",
    "first_step",
    "truncate_against",
    "truncation_for",
]
_TRUNCATION = frozenset(
    {
        "AskEndOffset",
        "Round",
        "TruncateTo",
        "Truncation",
        "TruncationOutcome",
        "TruncationProtocol",
        "diverging_epoch",
        "first_step",
        "truncate_against",
        "truncation_for",
    }
)


def __getattr__(name: str) -> Any:
    """Load what decides about truncations on first use (PEP 562): a log that nobody replicates does without it."""
    if name not in _TRUNCATION:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.truncation"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


ensure_together(__name__, __distribution__)
