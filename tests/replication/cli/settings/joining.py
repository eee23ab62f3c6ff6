"""Processes of `epochlog broker`, and the files that they are started with."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tests.oracle.broker import free_port
from tests.replication.cli.schemas import validate_output

SECONDS = 180


def server_properties(directory: Path, controller: str, node_id: int = 9, **changes: object) -> Path:
    """Write a broker's file, as Kafka's own take it; underscores stand for dots."""
    address = f"PLAINTEXT://127.0.0.1:{free_port()}"
    properties: Mapping[str, object] = {
        "process.roles": "broker",
        "node.id": node_id,
        "log.dirs": directory / f"ours-{node_id}",
        "controller.quorum.bootstrap.servers": controller,
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "listeners": address,
        "advertised.listeners": address,
        "broker.heartbeat.interval.ms": 200,
        "replica.lag.time.max.ms": 3_000,
    }
    path = directory / f"ours-{node_id}.properties"
    given = {**properties, **{name.replace("_", "."): value for name, value in changes.items()}}
    path.write_text("".join(f"{name}={value}\n" for name, value in given.items()))
    return path


def lone_properties(directory: Path, controller: str, node_id: int = 9, **changes: object) -> Path:
    """Write the file of a broker whose cluster has no other one."""
    return server_properties(directory, controller, node_id, **{"start_without_coordinators": "true", **changes})


@contextmanager
def joined(
    config: Path, errors: IO[str] | None = None, *options: str
) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Start a broker, give what it prints once it has joined, and end it with what is left of it."""
    command = [sys.executable, "-m", "replication.cli", "broker", "--config", str(config), "--json", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
        try:
            output: IO[str] | None = process.stdout
            assert output is not None
            told = output.readline()
            validate_output("broker", told)
            document = json.loads(told)
            assert "error" not in document, document
            yield process, document
        finally:
            if process.poll() is None:
                process.kill()
