"""Serves metrics to Prometheus."""

import logging
import socket
import sys
from http.server import ThreadingHTTPServer
from threading import BoundedSemaphore, Thread
from typing import Any, Final
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, MetricsHandler
from prometheus_client.registry import Collector

LOCAL: Final = "127.0.0.1"
PATH: Final = "/metrics"
_SECONDS: Final = 10.0
"""Who sends or takes nothing for that long is hung up on."""
_MOST: Final = 16
"""Who are answered at once; others are hung up on."""
_LOGGER: Final = logging.getLogger("epochlog.metrics")


class MetricsServer:
    """Serves `GET /metrics` until it is closed; what is wrong with a request ends that request alone."""

    def __init__(self, metrics: Collector | None = None, host: str = LOCAL, port: int = 0) -> None:
        """Listen; port 0 lets the system choose. Raises OSError if the address cannot be used."""
        self.registry: Final = CollectorRegistry()
        """What is collected at each scrape; more may be registered at any time."""
        if metrics is not None:
            self.registry.register(metrics)
        try:
            self._server = _Server(host, port, self.registry)
        except (OSError, OverflowError) as error:
            error.add_note(f"cannot serve metrics at {host}:{port}; choose another port, or 0 for any")
            raise
        self.address = f"{f'[{host}]' if ':' in host else host}:{self._server.server_port}"
        """HOST:PORT with the port that is in use."""
        self._thread = Thread(target=self._server.serve_forever, name="metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    """Answers each request in a thread of its own, so that who reads slowly keeps nobody waiting."""

    def __init__(self, host: str, port: int, registry: CollectorRegistry) -> None:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        self.address_family = family
        self._room: Final = BoundedSemaphore(_MOST)
        handler = type("_RegistryHandler", (_Handler,), {"registry": registry})
        super().__init__((str(address[0]), port), handler)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Return whether there is room for one more."""
        del request, client_address
        return self._room.acquire(blocking=False)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Begin a thread, or raise for want of threads."""
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._room.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and make room."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Leave it at that: who asked has gone, or was too slow."""
        del request
        _LOGGER.debug("%s could not be answered: %r", client_address, sys.exception())


class _Handler(MetricsHandler):
    timeout = _SECONDS

    def do_GET(self) -> None:  # noqa: N802  the name that http.server looks for
        if urlsplit(self.path).path != PATH:
            self.send_error(404, f"metrics are at {PATH}")
            return
        try:
            super().do_GET()
        except OSError:
            raise  # it has gone
        except Exception:
            _LOGGER.exception("the metrics could not be collected")
            self.send_error(500, "the metrics could not be collected; the log says why")
