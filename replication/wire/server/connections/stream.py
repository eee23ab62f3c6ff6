"""The bytes of a connection, as a server sends and receives them."""

import select
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final, Protocol

from replication.records.codec.gathered import Part

_HUNG_UP: Final = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR
"""Only Linux reports the first, which comes while this side may still send."""
_MOST_PARTS: Final = 1_024
"""That one call sends (IOV_MAX)."""


NOTHING_SECONDS: Final = 1.0
"""Who has sent nothing for that long need not be waited for by a thread."""


class NothingYetError(Exception):
    """Nothing has come for some time."""


class Stream(Protocol):
    """One thread sends and receives; any other may end it, and `offer` while that one does neither."""

    opening_seconds: float | None
    """How long what comes before the first request may take; None where that is nothing."""

    @property
    def descriptor(self) -> int:
        """Its socket's."""

    def open(self) -> str | None:
        """Do what comes before the first request, and return whose certificate the other side has, if any."""

    def wait(self, seconds: float) -> bool:
        """Wait for so long at most, and return whether there is something to receive, or the end."""

    def receive(self, into: memoryview) -> int:
        """Wait for some bytes, and return how many came: 0 at the end. NothingYetError, OSError."""

    def offer(self, parts: list[Part]) -> bytes:
        """Send what can be sent without waiting, let go of the parts, and return what is left for `send`. OSError."""

    def send(self, rest: bytes) -> None:
        """Send all of it, waiting for whoever is to take it. TimeoutError, OSError."""

    def is_left(self) -> bool:
        """Return whether the other side has hung up, without waiting."""

    def is_at_end(self) -> bool:
        """Return whether that is all that there is to receive, without waiting."""

    def end(self) -> None:
        """End both waits; any thread may call this."""

    def close(self) -> None:
        """Close the socket; called by the thread that uses it."""


class PlainStream:
    """Sends what it is given as it is.

    The socket blocks, with time limits of the system's: one call receives, and one that does not wait sends header and
    records without a copy.
    """

    opening_seconds: float | None = None

    def __init__(self, connected: socket.socket, idle_seconds: float | None) -> None:
        """Wait for so long at most whenever nothing comes or nothing is taken."""
        self._socket: Final = connected
        connected.settimeout(None)
        receiving = NOTHING_SECONDS if idle_seconds is None else min(NOTHING_SECONDS, idle_seconds)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _time_limit(receiving))
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _time_limit(idle_seconds))

    @property
    def descriptor(self) -> int:
        """Its socket's."""
        return self._socket.fileno()

    def open(self) -> None:
        """Know nothing of the other side."""

    def wait(self, seconds: float) -> bool:
        """Wait for the socket."""
        return is_ready(self._socket, seconds)

    def receive(self, into: memoryview) -> int:
        """Wait for some bytes, and return how many came."""
        try:
            return self._socket.recv_into(into)
        except BlockingIOError:
            raise NothingYetError from None

    def offer(self, parts: list[Part]) -> bytes:
        """Give the kernel what it takes at once; copy the rest, so that no view of a log is held for a slow reader."""
        rest = self._rest(parts)
        parts.clear()
        return rest

    def send(self, rest: bytes) -> None:
        """Give the kernel the rest, as it takes it."""
        left = memoryview(rest)
        while left:
            try:
                left = left[self._socket.send(left) :]
            except BlockingIOError:
                raise TimeoutError from None

    def _rest(self, parts: Sequence[Part]) -> bytes:
        for start in range(0, len(parts), _MOST_PARTS):
            offered = parts[start : start + _MOST_PARTS]
            taken = self._taken(offered)
            if taken < sum(map(len, offered)):
                return b"".join(_after(taken, parts[start:]))
        return b""

    def _taken(self, parts: Sequence[Part]) -> int:
        try:
            return self._socket.sendmsg(parts, (), socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0

    def is_left(self) -> bool:
        """Return whether the other side has hung up."""
        return is_hung_up(self._socket)

    def is_at_end(self) -> bool:
        """Return whether that is all that there is to receive."""
        return has_ended(self._socket)

    def end(self) -> None:
        """End both waits."""
        shut_down(self._socket)

    def close(self) -> None:
        """Close the socket."""
        shut_down(self._socket)
        self._socket.close()


def is_ready(connected: socket.socket, seconds: float) -> bool:
    """Wait for so long at most, and return whether bytes have come, or the end."""
    watched = select.poll()
    watched.register(connected, select.POLLIN)
    return bool(watched.poll(seconds * 1_000))


def is_hung_up(connected: socket.socket) -> bool:
    """Return whether the other side has closed a connection, whatever it has sent before."""
    watched = select.poll()
    watched.register(connected, _HUNG_UP)
    return bool(watched.poll(0))


def has_ended(connected: socket.socket) -> bool:
    """Return whether all that the other side has sent is received, and nothing will follow."""
    try:
        return not socket.socket.recv(connected, 1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True


def shut_down(connected: socket.socket) -> None:
    """End a connection for both sides, also where a forked process has the socket too."""
    with suppress(OSError):  # the other side was first
        socket.socket.shutdown(connected, socket.SHUT_RDWR)  # that of TLS would drop what a thread still uses


def _time_limit(seconds: float | None) -> bytes:
    """Return a time limit as the system takes it, of which 0 is none."""
    microseconds = 0 if seconds is None else max(1, round(seconds * 1_000_000))
    return struct.pack("@ll", *divmod(microseconds, 1_000_000))


def _after(taken: int, parts: Sequence[Part]) -> Iterator[Part]:
    """Yield what is left of parts of which the first bytes are taken."""
    for part in parts:
        yield part[taken:] if taken < len(part) else b""
        taken = max(0, taken - len(part))
