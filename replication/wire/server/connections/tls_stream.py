"""The bytes of a connection that is encrypted."""

import socket
import ssl
from typing import Final

from replication.records.codec.gathered import Part
from replication.wire.server.connections.stream import (
    NOTHING_SECONDS,
    NothingYetError,
    has_ended,
    is_hung_up,
    is_ready,
    shut_down,
)
from replication.wire.server.hang_up import HangUpError
from replication.wire.server.security.distinguished_name import subject_of

_PIECE: Final = 64 * 1024
"""What is sent within one time limit: who takes that much in time is not idle."""
_NO_TLS: Final = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST"})


class TlsStream:
    """Copies what it is given, which encryption does anyway."""

    def __init__(
        self, connected: socket.socket, context: ssl.SSLContext, handshake_seconds: float, idle_seconds: float | None
    ) -> None:
        """Begin with `open`."""
        self.opening_seconds: float | None = handshake_seconds
        self._handshake_seconds: Final = handshake_seconds
        self._idle_seconds: Final = idle_seconds
        self._receiving_seconds: Final = NOTHING_SECONDS if idle_seconds is None else min(NOTHING_SECONDS, idle_seconds)
        self._socket: Final = context.wrap_socket(connected, server_side=True, do_handshake_on_connect=False)

    @property
    def descriptor(self) -> int:
        """Its socket's."""
        return self._socket.fileno()

    def open(self) -> str | None:
        """Shake hands, and return whose certificate the client has, if any; HangUpError says what is wrong."""
        self._socket.settimeout(self._handshake_seconds)
        try:
            self._socket.do_handshake()
        except TimeoutError as error:
            raise HangUpError("tls", f"no TLS handshake within {self._handshake_seconds:g} s") from error
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
            raise
        except ssl.SSLError as error:
            reason = (error.reason or str(error)).replace("_", " ").lower()
            guess = "; it does not speak TLS: its security protocol must be SSL or SASL_SSL here"
            raise HangUpError("tls", f"TLS failed: {reason}{guess if error.reason in _NO_TLS else ''}") from error
        self._socket.settimeout(self._idle_seconds)
        certificate = self._socket.getpeercert(binary_form=True)
        return subject_of(certificate) if certificate else None

    def wait(self, seconds: float) -> bool:
        """Wait for the socket, unless something is decrypted already."""
        return self._socket.pending() > 0 or is_ready(self._socket, seconds)

    def receive(self, into: memoryview) -> int:
        """Wait for some bytes, and return how many came."""
        if not self.wait(self._receiving_seconds):
            raise NothingYetError
        return self._socket.recv_into(into)

    def offer(self, parts: list[Part]) -> bytes:
        """Copy the parts, and let go of them: to encrypt them is the work of the thread that sends."""
        rest = b"".join(parts)
        parts.clear()
        return rest

    def send(self, rest: bytes) -> None:
        """Send it in pieces."""
        data = memoryview(rest)
        for start in range(0, len(data), _PIECE):
            self._socket.sendall(data[start : start + _PIECE])

    def is_left(self) -> bool:
        """Return whether the other side has hung up."""
        return is_hung_up(self._socket)

    def is_at_end(self) -> bool:
        """Return whether that is all that there is to receive, also where it is not decrypted yet."""
        return not self._socket.pending() and has_ended(self._socket)

    def end(self) -> None:
        """End both waits."""
        shut_down(self._socket)

    def close(self) -> None:
        """Close the socket."""
        shut_down(self._socket)
        self._socket.close()
