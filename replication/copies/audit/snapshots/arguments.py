"""What the arguments of an audit may be: what would mean something else, or nothing, is refused."""

import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from logstore.text.record_mask import RecordMask
from replication.base.errors import NotAllowedError, WrongTypeError
from replication.copies.audit.snapshots.work import MOST_TASKS

_SNAPSHOTS: Final = "a list of [NAME=]URIs, each a str or a Path, such as ['/backup/broker-1', '/backup/broker-2']"
_TOPICS: Final = "a list of names or patterns, each a str, such as ['orders', 'payments-*']"
_MASTER: Final = re.compile(
    r"local(\[(\d+|\*)(,\s*\d+)?\])?|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]|yarn|(spark|k8s|sc)://.+"
)
_MASTERS: Final = "spark://HOST:PORT, k8s://HOST:PORT, yarn, local[THREADS], sc://HOST of Spark Connect; or None"
_SAMPLE: Final = "a share of the partitions, above 0 and up to 1"


def snapshots_in(argument: Iterable[str | Path]) -> list[str | Path]:
    """Return the snapshots of an argument, one at least. Raises WrongTypeError, NotAllowedError."""
    snapshots = _listed("snapshots", argument, (str, Path), _SNAPSHOTS)
    if not snapshots:
        raise NotAllowedError("snapshots", snapshots, f"{_SNAPSHOTS}, one at least")
    return snapshots


def topics_in(argument: Iterable[str]) -> list[str]:
    """Return the topics of an argument, which may be empty. Raises WrongTypeError."""
    return _listed("topics", argument, (str,), _TOPICS)


def brokers_in(argument: Iterable[str | int]) -> list[str | int]:
    """Return the brokers of an argument, which may be empty. Raises WrongTypeError."""
    return _listed("expected_brokers", argument, (str, int), "a list of names or node ids, such as ['broker-1', 2]")


def sample_in(argument: float) -> float:
    """Return the share in an argument. Raises WrongTypeError, NotAllowedError."""
    if isinstance(argument, bool) or not isinstance(argument, (int, float)):
        raise WrongTypeError("sample", argument, _SAMPLE)
    if not 0 < argument <= 1:
        raise NotAllowedError("sample", argument, _SAMPLE)
    return argument


def replication_factor_in(argument: int | None) -> int | None:
    """Return the number of copies in an argument, or None. Raises WrongTypeError, NotAllowedError."""
    allowed = "None, or a whole number from 1 on"
    if argument is not None and (isinstance(argument, bool) or not isinstance(argument, int)):
        raise WrongTypeError("replication_factor", argument, allowed)
    if argument is not None and argument < 1:
        raise NotAllowedError("replication_factor", argument, allowed)
    return argument


def rotate_in(argument: int | None, *, history: str | Path | None) -> int | None:
    """Return the number of runs in an argument, or None. Raises WrongTypeError, NotAllowedError."""
    allowed = "None, or a whole number of runs from 1 on"
    if argument is not None and (isinstance(argument, bool) or not isinstance(argument, int)):
        raise WrongTypeError("rotate", argument, allowed)
    if argument is not None and argument < 1:
        raise NotAllowedError("rotate", argument, allowed)
    if argument is not None and history is None:
        raise NotAllowedError("rotate", argument, "None without a history, where all is read anyway")
    return argument


def history_in(argument: str | Path | None) -> str | Path | None:
    """Return the directory in an argument, or None. Raises WrongTypeError, NotAllowedError."""
    allowed = "None, or a directory: a path, or a URI such as s3://bucket/audits"
    if argument is not None and not isinstance(argument, (str, Path)):
        raise WrongTypeError("history", argument, allowed)
    if argument == "":
        raise NotAllowedError("history", argument, allowed)
    return argument


def patience_in(argument: float) -> float:
    """Return the number of seconds in an argument. Raises WrongTypeError, NotAllowedError."""
    allowed = "a number of seconds from 0 on"
    if isinstance(argument, bool) or not isinstance(argument, (int, float)):
        raise WrongTypeError("patience", argument, allowed)
    if not 0 <= argument < math.inf:
        raise NotAllowedError("patience", argument, allowed)
    return argument


def flag_in(name: str, argument: bool) -> bool:
    """Return the bool in an argument. Raises WrongTypeError."""
    if not isinstance(argument, bool):
        raise WrongTypeError(name, argument, "True or False")
    return argument


def mask_in(argument: RecordMask | None) -> RecordMask | None:
    """Return the mask in an argument. Raises WrongTypeError."""
    if argument is not None and not isinstance(argument, RecordMask):
        raise WrongTypeError("mask", argument, "None or a RecordMask")
    return argument


def task_bytes_in(argument: int | None) -> int | None:
    """Return the bytes that a task reads, or None. Raises WrongTypeError, NotAllowedError."""
    allowed = "None, or a whole number from 1 on"
    if argument is not None and (isinstance(argument, bool) or not isinstance(argument, int)):
        raise WrongTypeError("task_bytes", argument, allowed)
    if argument is not None and argument < 1:
        raise NotAllowedError("task_bytes", argument, allowed)
    return argument


def workers_in(argument: int | None, least: int = 0) -> int | None:
    """Return the number of processes in an argument, or None. Raises WrongTypeError, NotAllowedError."""
    allowed = f"None, or a whole number from {least} on"
    if argument is not None and (isinstance(argument, bool) or not isinstance(argument, int)):
        raise WrongTypeError("workers", argument, allowed)
    if argument is not None and argument < least:
        raise NotAllowedError("workers", argument, allowed)
    return argument


def master_in(argument: str | None) -> str | None:
    """Return where Spark is to run, or None. Raises NotAllowedError, where Java would print a long stack trace.

    >>> master_in("spark://host:7077")
    'spark://host:7077'
    """
    if argument is not None and not _MASTER.fullmatch(argument):
        raise NotAllowedError("master", argument, _MASTERS)
    return argument


def ensure_few_tasks(task_bytes: int | None, total: int, name: str = "task_bytes") -> None:
    """Raise NotAllowedError where tasks of `task_bytes` of `total` would be more than Spark can do with.

    `name` is what the user calls it.
    """
    least = -(-total // MOST_TASKS)
    if task_bytes is not None and task_bytes < least:
        allowed = f"a whole number from {least:,} on, with which {total:,} bytes make {MOST_TASKS:,} tasks at most"
        raise NotAllowedError(name, task_bytes, f"None, or {allowed}")


def _listed(name: str, argument: Iterable[Any], types: tuple[type, ...], allowed: str) -> list[Any]:
    """Return the items of a list; a string is refused, as its characters are never meant."""
    if isinstance(argument, (str, bytes, Path)) or not isinstance(argument, Iterable):
        raise WrongTypeError(name, argument, allowed)
    members = list(argument)
    for member in members:
        if not isinstance(member, types):
            raise WrongTypeError(f"a member of {name}", member, allowed)
    return members
