"""A TCP proxy on loopback that ill-treats the connections through it.

with Proxy("127.0.0.1", 9092) as proxy:
    proxy.tear(after=1_000)  # clients connect to proxy.port
"""

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Thread
from types import TracebackType
from typing import Self

CHUNK = 65_536
SLOW_CHUNK = 512
POLL_SECONDS = 0.1


class Proxy:
    """Passes bytes on between clients and one server, as long as it is not told otherwise."""

    def __init__(self, host: str, port: int, sleep: Callable[[float], object] = time.sleep) -> None:
        """Listen on a free port."""
        self._sleep = sleep
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(POLL_SECONDS)
        self.port: int = self._listener.getsockname()[1]
        self._lock = Lock()
        self._sockets: set[socket.socket] = set()
        self._threads: list[Thread] = []
        self._closed = False
        self._refuses = False
        self._bytes_per_second: int | None = None
        self._tear_after: int | None = None

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._closed = True
        self.cut()
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    # --- ill treatment

    def cut(self) -> None:
        """End all connections now."""
        with self._lock:
            for each in self._sockets:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def tear(self, after: int) -> None:
        """Pass on so many bytes of the server's, then end the connection that they are on, most likely amid a frame."""
        self._tear_after = after

    def slow(self, bytes_per_second: int | None) -> None:
        """Pass on the server's bytes at this rate, in small pieces; None: as fast as they come."""
        self._bytes_per_second = bytes_per_second

    def refuse(self, *, refuses: bool) -> None:
        """Take no new connections, or do so again."""
        self._refuses = refuses

    # --- passing on

    def _start(self, task: object, *arguments: object) -> None:
        thread = Thread(target=task, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            if self._refuses:
                client.close()
                continue
            try:
                server = socket.create_connection(self._target, timeout=10)
            except OSError:
                client.close()
                continue
            for end in (client, server):
                end.settimeout(None)
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._sockets |= {client, server}
            self._start(self._pass_on, client, server, False)
            self._start(self._pass_on, server, client, True)

    def _pass_on(self, source: socket.socket, target: socket.socket, from_server: bool) -> None:
        with suppress(OSError):
            while data := source.recv(SLOW_CHUNK if from_server and self._bytes_per_second else CHUNK):
                if not from_server:
                    target.sendall(data)
                    continue
                whole = len(data)
                data = self._left_by_a_tear(data)
                self._delay(len(data))
                target.sendall(data)
                if len(data) < whole:
                    break
        with self._lock:
            for end in (source, target):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            if from_server:
                self._sockets -= {source, target}
        if from_server:
            source.close()
            target.close()

    def _left_by_a_tear(self, data: bytes) -> bytes:
        with self._lock:
            left = self._tear_after
            if left is None:
                return data
            if left >= len(data):
                self._tear_after = left - len(data)
                return data
            self._tear_after = None
            return data[:left]

    def _delay(self, size: int) -> None:
        rate = self._bytes_per_second
        if rate:
            self._sleep(size / rate)
