"""One broker of a cluster for tests that is a process of its own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path
from threading import Condition, RLock, Thread
from typing import IO, Any, Final

from logstore import TopicPartition
from replication.base.errors import ReplicationError
from replication.testing.errors import BrokerProcessError, NotReachedError
from replication.testing.forgetful_disk import ForgetfulDisk
from replication.testing.links import Links, LinkState
from replication.testing.node_settings import NodeSettings
from replication.testing.process_settings import ProcessSettings
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.connection import Connection
from replication.wire.error_code import ErrorCode
from replication.wire.messages.offset_for_leader_epoch import EpochQuestion, OffsetForLeaderEpochRequest

_MODULE: Final = "replication.testing.broker_process"
_START_SECONDS: Final = 90.0
_ANSWER_SECONDS: Final = 10.0
_STOP_SECONDS: Final = 30.0
_QUICK: Final = ClientSettings(connect_timeout_ms=500, request_timeout_ms=1_000)


class NodeProcess:
    """Started, stopped, killed, and started again on the same directory and port. Any thread may call it.

    The process ends with this one, whatever ends that. What it logs is appended to a file beside its directory.
    """

    def __init__(
        self,
        broker_id: int,
        root: Path,
        address: Address,
        controller: Address,
        links: Links,
        starter: Executor,
        settings: NodeSettings,
    ) -> None:
        """Own a directory that is formatted for the broker; nothing runs yet.

        The thread of the `starter` must last: on Linux processes end with the thread that has started them.
        """
        self.broker_id: Final = broker_id
        self.root: Final = root
        self.address: Final = address
        """Where it listens."""
        self.log_path: Final[Path] = root.with_name(f"{root.name}.log")
        """What it has logged, in all its lives."""
        self._journal: Final = root.with_name(f"{root.name}.flushed")
        self._controller: Final = controller
        self._links: Final = links
        self._starter: Final = starter
        self._node_settings: Final = settings
        self._process: _Process | None = None
        self._changing: Final = RLock()
        links.watch(self._relink)

    @property
    def is_up(self) -> bool:
        """Whether it was started, and neither stopped nor killed since."""
        return self._process is not None

    @property
    def pid(self) -> int | None:
        """The process's id; None while it is down."""
        process = self._process
        return None if process is None else process.pid

    def leads(self, partition: TopicPartition, leader_epoch: int) -> bool:
        """Whether it answers as the leader of a partition in an epoch."""
        process = self._process
        if process is None or process.is_paused:
            return False
        question = OffsetForLeaderEpochRequest(partitions={partition: EpochQuestion(leader_epoch, leader_epoch)})
        try:
            with Connection.open(self.address, _QUICK) as connection:
                return connection.ask(question).partitions[partition].error is ErrorCode.NONE
        except (OSError, ReplicationError):
            return False

    def start(self) -> None:
        """Start the process, and return once the broker has its place in the cluster.

        Raises ValueError where it is up, BrokerProcessError where it ends instead, and NotReachedError.
        """
        with self._changing:
            if self._process is not None:
                raise ValueError(f"broker {self.broker_id} is up")
            process = self._process = self._starter.submit(_Process, self.log_path).result()
            process.tell(self._settings().as_json())
        try:
            process.wait_for("address", _START_SECONDS)
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """Leave in order, with all on stable storage.

        Raises ValueError where it is down or paused, BrokerProcessError and NotReachedError.
        """
        if self._process is not None and self._process.is_paused:
            raise ValueError(f"broker {self.broker_id} is paused: resume it first")
        process = self._taken()
        try:
            process.tell({"stop": True})
            process.wait_for("stopped", _STOP_SECONDS)
        finally:
            process.kill()

    def kill(self, *, lose_unflushed: bool = False) -> int:
        """End at once, by SIGKILL, or as by a loss of power; return how many bytes are lost with that."""
        self._taken().kill()
        if not lose_unflushed:
            return 0
        disk = ForgetfulDisk(self._journal)
        try:
            return disk.lose()
        finally:
            disk.close_journal()

    def _settings(self) -> ProcessSettings:
        return ProcessSettings(
            broker_id=self.broker_id,
            root=self.root,
            journal=self._journal,
            address=self.address,
            controller=self._controller,
            parent=os.getpid(),
            node=self._node_settings,
            links=_told(self._links.state),
        )

    def _taken(self) -> "_Process":
        with self._changing:
            process, self._process = self._process, None
        if process is None:
            raise ValueError(f"broker {self.broker_id} is down: start it first")
        return process

    def _relink(self, state: LinkState) -> None:
        with self._changing:
            process = self._process
            if process is None:
                return
            process.pause(paused=self.broker_id in state.paused)
            if not process.is_paused:
                process.obey({"links": _told(state).as_json()})


class _Process:
    """The process, the pipes to it, and what it has said. One thread reads that."""

    def __init__(self, log_path: Path) -> None:
        # What this process imports, the broker's does; an interrupt at the terminal is this process's to handle.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        with log_path.open("ab") as log:
            self._process: Final = subprocess.Popen(  # noqa: S603  this library's own module
                [sys.executable, "-m", _MODULE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                process_group=0,
            )
        self.is_paused = False
        self._log_path: Final = log_path
        self._said: Final[dict[str, Any]] = {}
        self._has_ended = False
        self._changed: Final = Condition()
        self._sent = 0
        self._reader: Final = Thread(target=self._read, name="broker-process", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def tell(self, command: dict[str, Any]) -> None:
        """Send a line; a process that has ended is noticed by who waits for it."""
        with suppress(BrokenPipeError):
            pipe = _pipe(self._process.stdin)
            pipe.write(json.dumps(command).encode() + b"\n")
            pipe.flush()

    def obey(self, command: dict[str, Any]) -> None:
        """Send a command, and return once it is done, or the process has ended."""
        self._sent += 1
        number = self._sent
        self.tell({**command, "number": number})
        self._wait(lambda: self._has_ended or self._said.get("done", 0) >= number, "it obeys", _ANSWER_SECONDS)

    def wait_for(self, word: str, seconds: float) -> Any:
        """Return what it says under a name. Raises BrokerProcessError where it ends first, and NotReachedError."""
        self._wait(lambda: self._has_ended or word in self._said, f"it says {word}", seconds)
        if word not in self._said:
            raise BrokerProcessError(self._process.wait(), self._log_path)
        return self._said[word]

    def pause(self, *, paused: bool) -> None:
        """Stop or continue the process."""
        if paused != self.is_paused and self._process.poll() is None:
            self._process.send_signal(signal.SIGSTOP if paused else signal.SIGCONT)
        self.is_paused = paused

    def kill(self) -> None:
        """End it, and all that belongs to it."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        with suppress(BrokenPipeError):
            _pipe(self._process.stdin).close()
        _pipe(self._process.stdout).close()

    def _wait(self, holds: Callable[[], bool], wanted: str, seconds: float) -> None:
        with self._changed:
            if not self._changed.wait_for(holds, seconds):
                raise NotReachedError(f"{wanted} ({self._log_path})", seconds)

    def _read(self) -> None:
        for line in _pipe(self._process.stdout):
            with self._changed:
                self._said.update(json.loads(line))
                self._changed.notify_all()
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # noqa: S101  asked for
    return pipe


def _told(state: LinkState) -> LinkState:
    """Return what a process is told of the links: those that are paused stand still by themselves."""
    return state._replace(paused=frozenset())
