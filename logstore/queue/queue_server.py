"""Answers the clients of a work queue, in the process that owns it."""

import socket
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread, current_thread
from typing import Any, Final

from epoch.base.forked import detach_after_fork
from logstore.errors import LogClosedError, LogPoisonedError, LogStoreError
from logstore.queue import frames
from logstore.queue.queue_log import QueueLog
from logstore.queue.socket_path import connect, listen, remove

_CALLS: Final = frozenset({"finish", "release", "extend", "revive", "discard", "counts"})

Message = tuple[dict[str, Any], list[bytes]]


class QueueServer:
    """A thread that waits for clients, and one for each of them, which waits for the disk."""

    def __init__(self, queue: QueueLog, directory: Path) -> None:
        """Answer from now on. Raises OSError."""
        self._queue = queue
        self._directory = directory
        self._listener = listen(directory)
        self._clients: dict[Thread, socket.socket] = {}
        self._is_stopped = False
        self._stopping = Lock()
        detach_after_fork(self)
        self._acceptor = Thread(target=self._accept, name="epochlog-queue-owner", daemon=True)
        self._acceptor.start()

    def stop(self) -> None:
        """Refuse further calls: who comes from now on finds no owner. Stopping again does nothing."""
        with self._stopping:  # who comes second must not let go of the log, and another one own it, before this is done
            if self._is_stopped:
                return
            self._is_stopped = True
            with suppress(OSError):
                connect(self._directory).close()  # wakes the thread that waits for clients
            with suppress(OSError):
                remove(self._directory)
            for connection in [*self._clients.values()]:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RD)

    def join(self) -> None:
        """Return once all that was asked for is answered."""
        self._acceptor.join()
        for thread in [*self._clients]:
            thread.join()

    def detach(self) -> None:
        """Close a forked process's copies of the sockets: clients are to notice when their owner ends."""
        self._listener.close()
        for connection in [*self._clients.values()]:
            connection.close()

    def _accept(self) -> None:
        with self._listener, suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                thread = Thread(target=self._serve, args=(connection,), name="epochlog-queue-client", daemon=True)
                self._clients[thread] = connection
                thread.start()
                if self._is_stopped:
                    connection.shutdown(socket.SHUT_RD)
                    return

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, suppress(OSError, LogClosedError):
                while self._queue.failure is None:
                    frames.send(connection, *self._answer(connection, *frames.receive(connection)))
        finally:
            del self._clients[current_thread()]
            if self._queue.failure is not None:
                self.stop()
                self._queue.abandon()  # whoever opens the log next finds out what it has

    def _answer(self, connection: socket.socket, fields: dict[str, Any], values: list[bytes]) -> Message:
        """Do what is asked for. Raises LogClosedError, LogPoisonedError where another is to do it."""
        try:
            return self._done(connection, fields["call"], fields["arguments"], values)
        except (ConnectionError, LogClosedError, LogPoisonedError):
            raise
        except Exception as error:  # noqa: BLE001  whatever it is, who has asked is told
            return _told(error), []

    def _done(self, connection: socket.socket, call: str, arguments: dict[str, Any], values: list[bytes]) -> Message:
        if call == "put":
            ids = self._queue.put(values, **arguments)
            return {"ids": [ids.start, ids.stop]}, []
        if call == "take":
            given = self._queue.take(**arguments, ensure_wanted=lambda: _ensure_there(connection))
            return {"tokens": [each[:2] for each in given]}, [each.value for each in given]
        if call == "dead":
            given = self._queue.dead(**arguments)
            return {"tokens": [each[:2] for each in given]}, [each.value for each in given]
        if call in _CALLS:
            return {"told": getattr(self._queue, call)(**arguments)}, []
        raise LogStoreError(f"a queue has no call {call!r}", advice="use the same version in all processes")


def _ensure_there(connection: socket.socket) -> None:
    """Raise ConnectionError where the other side is gone: it sends nothing while it waits for an answer."""
    try:
        connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return
    raise ConnectionError("the other side is gone")


def _told(error: Exception) -> dict[str, Any]:
    """Return the fields from which a client makes the error anew."""
    return {
        "error": getattr(error, "what", None) or str(error),
        "kind": type(error).__name__,
        "errno": getattr(error, "errno", None),
        "file": getattr(error, "file", None) or getattr(error, "filename", None),
        "offset": getattr(error, "offset", None),
        "advice": getattr(error, "advice", ""),
    }
