"""Dumps to look at: of the shipped replicas, and of files that a test writes."""

import base64
import json
from pathlib import Path
from typing import Any

from tests.data.replicas import replicas
from tests.replication.cli.command import Outcome, epochlog

CODECS = replicas("diverged") / "broker-1/codecs-0/00000000000000000400.log"
TRANSACTIONS = replicas("diverged") / "broker-3/txns-0/00000000000000000200.log"


def lines(outcome: Outcome) -> list[dict[str, Any]]:
    return [json.loads(line) for line in outcome.out.splitlines()]


def dump_json(*arguments: object) -> list[dict[str, Any]]:
    return lines(epochlog("dump", "--json", *arguments))


def written(directory: Path, data: bytes, name: str = "00000000000000000000.log") -> Path:
    path = directory / name
    path.write_bytes(data)
    return path


def content(document: dict[str, Any], name: str) -> bytes | None:
    if f"{name}_base64" in document:
        return base64.b64decode(document[f"{name}_base64"])
    return None if document[name] is None else str(document[name]).encode()
