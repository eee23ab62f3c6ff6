"""A broker of a cluster for tests that is a process of its own: `python -m replication.testing.broker_process`.

The parent sends objects of JSON, one a line: `ProcessSettings`, and then commands. The process answers so too: where
the broker listens, once it has its place in the cluster, and what was done. It ends with its parent.
"""

import ctypes
import json
import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import closing
from threading import Event, Thread
from typing import IO, Any, Final

from logstore.directory.log_directories import LogDirectories
from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.cluster.node.network_link import NetworkLink
from replication.testing.forgetful_disk import ForgetfulDisk
from replication.testing.linked_broker import LinkedBroker
from replication.testing.linked_controller import LinkedController
from replication.testing.links import Links, LinkState
from replication.testing.process_settings import ProcessSettings
from replication.wire.client.client_settings import ClientSettings

_SET_PARENT_DEATH_SIGNAL: Final = 1
"""Linux: PR_SET_PDEATHSIG."""
_CONTROLLER_TIMEOUT_MS: Final = 1_000


class BrokerProcess:
    """Does what its parent says, and ends once that says nothing more."""

    def __init__(self, settings: ProcessSettings, answers: IO[bytes]) -> None:
        """Begin with the links as they are given; see `run`."""
        self._settings: Final = settings
        self._answers: Final = answers
        self._links: Final = Links()
        self._links.take(settings.links)
        self._stopped: Final = Event()

    def run(self, commands: Iterator[bytes]) -> None:
        """Run a broker until the parent requests a stop."""
        Thread(target=self._obey, args=(commands,), name="commands", daemon=True).start()
        settings = self._settings
        disk = ForgetfulDisk(settings.journal)
        with closing(
            LogDirectories.open(
                [settings.root],
                replicated=True,
                damage="hold",
                settings=settings.node.of_directories,
                filesystem=disk,
                periodic=True,
            )
        ) as directories:
            broker = self._broker(directories)
            self._say({"address": broker.address})
            self._stopped.wait()
            broker.close()
        self._say({"stopped": True})

    def _broker(self, directories: LogDirectories) -> LinkedBroker:
        settings = self._settings
        client = ClientSettings(connect_timeout_ms=_CONTROLLER_TIMEOUT_MS, request_timeout_ms=_CONTROLLER_TIMEOUT_MS)
        link = NetworkLink([settings.controller], BrokerIdentity.of(directories), client)
        return LinkedBroker(
            settings.broker_id,
            self._links,
            LinkedController(link, settings.broker_id, self._links),
            directories,
            settings.node.of_node(settings.address),
        )

    def _obey(self, commands: Iterator[bytes]) -> None:
        for line in commands:
            command = json.loads(line)
            if "links" in command:
                self._links.take(LinkState.from_json(command["links"]))
                self._say({"done": command["number"]})
            else:
                self._stopped.set()
        if not self._stopped.is_set():
            os._exit(1)  # nobody is left to whom it would matter how it ends

    def _say(self, answer: dict[str, Any]) -> None:
        self._answers.write(json.dumps(answer).encode() + b"\n")
        self._answers.flush()


def main() -> None:
    """Read the settings, and run; what is printed meanwhile goes to standard error, as the log does."""
    # Unbuffered: the buffer of a thread that still waits for more would keep the interpreter from ending.
    with os.fdopen(os.dup(1), "wb") as answers, os.fdopen(os.dup(0), "rb", buffering=0, closefd=False) as commands:
        os.dup2(2, 1)
        settings = ProcessSettings.from_json(json.loads(commands.readline()))
        _end_with(settings.parent)
        form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
        logging.basicConfig(level=logging.INFO, stream=sys.stderr, format=form)
        BrokerProcess(settings, answers).run(iter(commands.readline, b""))


def _end_with(parent: int) -> None:
    """Make the system end this process with its parent, also while it is stopped, where that is possible."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


if __name__ == "__main__":
    main()
