"""A root that a real broker left in order, to be damaged in copies."""

from functools import cache
from pathlib import Path

from tests.data.replicas import replicas

ROOT_FILES = (
    "cleaner-offset-checkpoint",
    "log-start-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "meta.properties",
    ".kafka_cleanshutdown",
)


@cache
def source() -> Path:
    return replicas("reconciled") / "broker-1"
