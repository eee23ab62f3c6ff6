"""The bytes of a connection that is encrypted."""

import socket
import ssl
from typing import Final

from replication.codec.gathered import Part
from replication.server.connections.stream import is_hung_up, is_ready, shut_down
from replication.server.hang_up import HangUpError
from replication.server.security.distinguished_name import subject_of

_PIECE: Final = 64 * 1024
"""What is sent within one time limit: who takes that much in time is not idle."""
_NO_TLS: Final = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST"})


class TlsStream:
    """Copies what it is given, which encryption does anyway."""

    def __init__(
        self, connected: socket.socket, context: ssl.SSLContext, handshake_seconds: float, idle_seconds: float | None
    ) -> None:
        """Begin with `open`."""
        self._handshake_seconds: Final = handshake_seconds
        self._idle_seconds: Final = idle_seconds
        self._socket: Final = context.wrap_socket(connected, server_side=True, do_handshake_on_connect=False)

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

    def end(self) -> None:
        """Let neither wait any longer."""
        shut_down(self._socket)

    def close(self) -> None:
        """Let go of the socket."""
        shut_down(self._socket)
        self._socket.close()
