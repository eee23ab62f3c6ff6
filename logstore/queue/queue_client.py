"""What a process asks the owner of a work queue for, over its socket."""

import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from logstore import errors
from logstore.queue import frames
from logstore.queue.queue_log import Given, Producer, Token
from logstore.queue.queue_state import QueueCounts
from logstore.queue.socket_path import connect


class QueueClient:
    """Has the calls of `QueueLog`. All raise ConnectionError where the owner is gone: whether it did it is unknown."""

    def __init__(self, directory: Path) -> None:
        """Connect to the owner. Raises what `connect` raises."""
        self._directory = directory
        self._idle = [connect(directory)]
        """A thread that waits has a connection for itself."""
        self._all = {*self._idle}
        self._is_closed = False

    def put(
        self, values: Sequence[bytes], priority: int = 0, delay_ms: int = 0, producer: Producer | None = None
    ) -> range:
        """Do as `QueueLog.put`."""
        fields, _ = self._ask("put", values, priority=priority, delay_ms=delay_ms, producer=producer)
        return range(*fields["ids"])

    def take(self, most: int, lease_ms: int, limit: int, wait: float | None = 0) -> list[Given]:
        """Do as `QueueLog.take`."""
        return _given(*self._ask("take", most=most, lease_ms=lease_ms, limit=limit, wait=wait))

    def finish(self, tokens: Sequence[Token]) -> list[bool]:
        """Do as `QueueLog.finish`."""
        return list(self._told("finish", tokens=tokens))

    def release(self, tokens: Sequence[Token], delay_ms: int = 0) -> list[bool]:
        """Do as `QueueLog.release`."""
        return list(self._told("release", tokens=tokens, delay_ms=delay_ms))

    def extend(self, tokens: Sequence[Token], lease_ms: int) -> list[bool]:
        """Do as `QueueLog.extend`."""
        return list(self._told("extend", tokens=tokens, lease_ms=lease_ms))

    def dead(self, most: int) -> list[Given]:
        """Do as `QueueLog.dead`."""
        return _given(*self._ask("dead", most=most))

    def revive(self, items: Sequence[int]) -> int:
        """Do as `QueueLog.revive`."""
        return int(self._told("revive", items=items))

    def discard(self, items: Sequence[int]) -> int:
        """Do as `QueueLog.discard`."""
        return int(self._told("discard", items=items))

    def counts(self) -> QueueCounts:
        """Do as `QueueLog.counts`."""
        return QueueCounts(*self._told("counts"))

    def close(self) -> None:
        """Close the connections; calls that wait for an answer raise ConnectionError."""
        self._is_closed = True
        for connection in [*self._all]:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        while self._idle:
            self._drop(self._idle.pop())

    def detach(self) -> None:
        """Close a forked process's copies of the connections, which the others go on using."""
        for connection in self._all:
            connection.close()

    def _told(self, call: str, **arguments: Any) -> Any:
        fields, _ = self._ask(call, **arguments)
        return fields["told"]

    def _ask(self, call: str, values: Sequence[bytes] = (), **arguments: Any) -> tuple[dict[str, Any], list[bytes]]:
        connection = self._connection()
        try:
            frames.send(connection, {"call": call, "arguments": arguments}, values)
            answer, found = frames.receive(connection)
        except BaseException:
            self._drop(connection)  # an answer that comes later is nobody's
            raise
        self._idle.append(connection)
        if self._is_closed:
            self.close()
        if "error" in answer:
            _refuse(answer)
        return answer, found

    def _connection(self) -> socket.socket:
        try:
            return self._idle.pop()
        except IndexError:
            pass
        try:
            connection = connect(self._directory)
        except FileNotFoundError as error:
            raise ConnectionRefusedError(*error.args) from error
        self._all.add(connection)
        return connection

    def _drop(self, connection: socket.socket) -> None:
        self._all.discard(connection)
        connection.close()


def _given(fields: dict[str, Any], values: list[bytes]) -> list[Given]:
    return [Given(item, attempt, value) for (item, attempt), value in zip(fields["tokens"], values, strict=True)]


def _refuse(answer: dict[str, Any]) -> NoReturn:
    """Raise what the owner's call has raised."""
    if answer["errno"] is not None:
        raise OSError(answer["errno"], f"{os.strerror(answer['errno'])}: {answer['error']}", answer["file"])
    kind = getattr(errors, answer["kind"], errors.LogStoreError)
    raise kind(answer["error"], file=answer["file"], offset=answer["offset"], advice=answer["advice"])
