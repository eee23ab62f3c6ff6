"""A stream of bytes to a broker: TCP, and TLS if configured."""

import socket
import ssl

from replication.protocol.addresses import Address
from replication.protocol.client.client_settings import ClientSettings
from replication.protocol.errors import CertificateRefusedError, ConnectionFailedError


def open_stream(address: Address, settings: ClientSettings) -> socket.socket:
    """Connect; ConnectionFailedError or CertificateRefusedError say why that is not possible."""
    seconds = settings.connect_timeout_ms / 1000
    context = settings.tls.context() if settings.tls else None
    stream = _connect(address, seconds)
    try:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return _wrap(address, stream, context, seconds) if context else stream
    except BaseException:
        stream.close()
        raise


def tls_error(address: Address, error: ssl.SSLError) -> Exception:
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
    return ConnectionFailedError(address, f"TLS failed: {reason}", "does this listener speak TLS?")


def _connect(address: Address, seconds: float) -> socket.socket:
    try:
        return socket.create_connection(address, seconds)
    except (socket.gaierror, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "this is not a valid host name"
        raise ConnectionFailedError(address, f"the host is not known: {reason}", "check its name") from error
    except TimeoutError as error:
        raise ConnectionFailedError(address, f"no answer within {seconds:g} s") from error
    except OSError as error:
        raise ConnectionFailedError(address, error.strerror or str(error)) from error


def _wrap(address: Address, stream: socket.socket, context: ssl.SSLContext, seconds: float) -> ssl.SSLSocket:
    try:
        return context.wrap_socket(stream, server_hostname=address.host)
    except ssl.SSLError as error:
        raise tls_error(address, error) from error
    except TimeoutError as error:
        reason = f"no response to TLS within {seconds:g} s"
        raise ConnectionFailedError(address, reason, "does this listener speak TLS?") from error
    except OSError as error:
        reason = f"the broker closed the connection during the TLS handshake: {error.strerror or error}"
        raise ConnectionFailedError(address, reason, "does this listener speak TLS?") from error
