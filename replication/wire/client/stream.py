"""A stream of bytes to a broker: TCP, and TLS if configured."""

import socket
import ssl
from typing import Final

from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.errors import CertificateRefusedError, ConnectionClosedError, ConnectionFailedError

_EXPECTS_TLS: Final = "does this listener speak TLS?"
_CHECK: Final = "check the host, the port and the network"
_ANSWERED_BEFORE: Final = "it has worked before: is the broker down?"


def open_stream(address: Address, settings: ClientSettings, *, has_worked: bool = False) -> socket.socket:
    """Connect; ConnectionFailedError or CertificateRefusedError say why that is not possible.

    `has_worked` says that it was possible before, so that settings are not what is wrong.
    """
    seconds = settings.connect_timeout_ms / 1000
    context = settings.tls.context() if settings.tls else None
    stream = _connect(address, seconds, _ANSWERED_BEFORE if has_worked else _CHECK)
    try:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return _wrap(address, stream, context, seconds, has_worked=has_worked) if context else stream
    except BaseException:
        stream.close()
        raise


def tls_error(address: Address, error: ssl.SSLError, *, has_worked: bool) -> Exception:
    """Return our error for one of TLS."""
    reason = (error.reason or str(error)).replace("_", " ").lower()
    if isinstance(error, ssl.SSLCertVerificationError):
        return CertificateRefusedError(
            address,
            f"the broker's certificate is refused: {error.verify_message}",
            "name the certificates of the authority that signed it, and use the host that it is for",
        )
    if "alert" in reason and ("certificate" in reason or "unknown ca" in reason):
        return CertificateRefusedError(
            address, f"the broker refuses our certificate: {reason}", "name one, with its key, that the broker trusts"
        )
    if has_worked:
        return ConnectionClosedError(address, f"connection lost: TLS failed: {reason}")
    return ConnectionFailedError(address, f"TLS failed: {reason}", _EXPECTS_TLS)


def _connect(address: Address, seconds: float, advice: str) -> socket.socket:
    try:
        return socket.create_connection(address, seconds)
    except (socket.gaierror, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "this is not a valid host name"
        raise ConnectionFailedError(address, f"the host is not known: {reason}", "check its name") from error
    except TimeoutError as error:
        raise ConnectionFailedError(address, f"no answer within {seconds:g} s", advice) from error
    except OSError as error:
        raise ConnectionFailedError(address, error.strerror or str(error), advice) from error


def _wrap(
    address: Address, stream: socket.socket, context: ssl.SSLContext, seconds: float, *, has_worked: bool
) -> ssl.SSLSocket:
    advice = _ANSWERED_BEFORE if has_worked else _EXPECTS_TLS
    try:
        return context.wrap_socket(stream, server_hostname=address.host)
    except TimeoutError as error:
        raise ConnectionFailedError(address, f"no response to TLS within {seconds:g} s", advice) from error
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionError) as error:
        reason = "the broker closed the connection during the TLS handshake"
        raise ConnectionFailedError(address, reason, advice) from error
    except ssl.SSLError as error:
        raise tls_error(address, error, has_worked=has_worked) from error
    except OSError as error:
        raise ConnectionFailedError(address, f"TLS failed: {error.strerror or error}", advice) from error
