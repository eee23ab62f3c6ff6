"""A token endpoint on loopback, which gives tokens that a broker with Kafka's unsecured validator takes."""

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs

CLIENT, SECRET = "mirror", "client:secret +&"
USER = "alice"


def unsecured_token(seconds: float, user: str = USER) -> str:
    """Return a JWT without a signature (RFC 7519, 6)."""
    now = time.time()
    parts = ({"alg": "none"}, {"sub": user, "iat": now, "exp": now + seconds})
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + "."


class TokenServer:
    """Answers as `answer` says: a status and a document; None gives a new token that lives for `lives` seconds."""

    def __init__(self) -> None:
        self.lives = 3_600.0
        self.answer: tuple[int, Any] | None = None
        self.headers: dict[str, str] = {}
        self.asked: list[tuple[str, dict[str, list[str]]]] = []
        """Of each request the credentials and the form."""
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                basic = self.headers["Authorization"].removeprefix("Basic ")
                server.asked.append((base64.b64decode(basic).decode(), parse_qs(self.rfile.read(length).decode())))
                token = {"access_token": unsecured_token(server.lives), "expires_in": server.lives}
                status, document = server.answer or (200, token)
                body = document if isinstance(document, bytes) else json.dumps(document).encode()
                self.send_response(status)
                for name, value in {**server.headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self.url = f"http://127.0.0.1:{self._server.server_port}/token"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Answer no more."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()
