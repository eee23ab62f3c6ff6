"""An object store on loopback that tells what lies in a local directory as S3 does, and can be made to fail."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from functools import cached_property, partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from time import sleep
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "backups"
LISTING = "?list"
"""Stands for a listing where a key is expected."""


@dataclass(frozen=True)
class Answer:
    """What is sent for one request."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None
    """What Content-Length says, where that is not the body's."""
    pause: float = 0
    """Seconds in the middle of the body."""


Fault = Callable[[Answer, int], Answer]
"""Alters an answer, the how manieth that is altered, from 0 on."""


class LoopbackStore:
    """Serves a directory; answers about the keys that `is_faulty` names are altered by `fault`, in these `turns`."""

    def __init__(self, directory: Path, *, has_digests: bool = False) -> None:
        self._directory = directory
        self.has_digests = has_digests
        """Whether ETags are MD5s, as those of S3 are without keys of KMS."""
        self.modified = "2023-11-14T22:13:20"
        """When each object was written, by what is said of it."""
        self._lock = Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.asked: Counter[str] = Counter()
        self.requests: Counter[str] = Counter()
        """By HEAD, GET and LISTING."""
        self.sent = 0
        """Bytes of objects."""
        self.set_fault()

    def set_fault(
        self,
        is_faulty: Callable[[str], bool] = lambda _key: False,
        fault: Fault = lambda answer, _: answer,
        turns: range = range(0),
    ) -> None:
        """Let these answers be altered from now on; bodies alone, each key counted by itself."""
        with self._lock:
            self._is_faulty, self._fault, self._turns = is_faulty, fault, turns
            self._altered: Counter[str] = Counter()

    @property
    def altered(self) -> int:
        """How many answers were altered."""
        return sum(min(times, self._turns.stop) for times in self._altered.values())

    @contextmanager
    def running(self) -> Iterator["LoopbackStore"]:
        """Serve for as long as it is entered."""
        Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()

    @cached_property
    def _sizes(self) -> dict[str, int]:
        """By key, of what lies there as the first listing is asked for."""
        files = sorted(path for path in self._directory.rglob("*") if path.is_file())
        return {path.relative_to(self._directory).as_posix(): path.stat().st_size for path in files}

    def address(self, key: str) -> str:
        """Name what lies under a key."""
        options = f"endpoint_override=127.0.0.1:{self._server.server_port}&scheme=http&region=us-east-1"
        return f"s3://key:secret@{BUCKET}/{key}?{options}"

    def answer(self, method: str, target: str, sent: str | None) -> Answer:
        """Answer one request; `sent` is the range that is asked for."""
        split = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(split.query, keep_blank_values=True).items()}
        key = unquote(split.path).removeprefix(f"/{BUCKET}").lstrip("/")
        with self._lock:
            self.requests[LISTING if "list-type" in query else method] += 1
        if "list-type" in query:
            name = LISTING + "/" + query.get("prefix", "")
            return self._disturbed(name, self._listed(query))
        if not key:
            return Answer(200, b"")
        found = self._found(key, sent)
        if method == "HEAD":
            return found
        with self._lock:
            self.sent += len(found.body)
        return self._disturbed(key, found)

    def _disturbed(self, key: str, answer: Answer) -> Answer:
        with self._lock:
            self.asked[key] += 1
            if not self._is_faulty(key):
                return answer
            turn = self._altered[key]
            self._altered[key] += 1
            fault = self._fault if turn in self._turns else None
        return fault(answer, turn) if fault else answer

    def _found(self, key: str, sent: str | None) -> Answer:
        path = self._directory / key
        if not path.is_file():
            return refused(404, "NoSuchKey")
        data = path.read_bytes()
        tag = hashlib.md5(data, usedforsecurity=False).hexdigest() if self.has_digests else "of-a-part"
        modified = format_datetime(datetime.fromisoformat(f"{self.modified}+00:00"), usegmt=True)
        headers = {"Last-Modified": modified, "ETag": f'"{tag}"'}
        if not sent:
            return Answer(200, data, headers)
        start, _, end = sent.removeprefix("bytes=").partition("-")
        part = data[int(start) : int(end or len(data)) + 1]
        headers["Content-Range"] = f"bytes {start}-{int(start) + len(part) - 1}/{len(data)}"
        return Answer(206, part, headers)

    def _listed(self, query: dict[str, str]) -> Answer:
        is_encoded = "encoding-type" in query
        named = partial(quoted, is_encoded=is_encoded)
        encoding = "<EncodingType>url</EncodingType>" if is_encoded else ""
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        keys: list[tuple[str, int]] = []
        prefixes: set[str] = set()
        for key, size in self._sizes.items():
            if not key.startswith(prefix):
                continue
            head, found, _ = key[len(prefix) :].partition(delimiter) if delimiter else ("", "", "")
            if found:
                prefixes.add(f"{prefix}{head}/")
            else:
                keys.append((key, size))
        keys = keys[: int(query.get("max-keys", "100000"))]
        contents = "".join(
            f"<Contents><Key>{named(key)}</Key><Size>{size}</Size>"
            f"<LastModified>{self.modified}.000Z</LastModified><ETag>x</ETag></Contents>"
            for key, size in keys
        )
        common = "".join(
            f"<CommonPrefixes><Prefix>{named(each)}</Prefix></CommonPrefixes>" for each in sorted(prefixes)
        )
        count = len(keys) + len(prefixes)
        body = (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>{BUCKET}</Name><Prefix>{named(prefix)}</Prefix><KeyCount>{count}</KeyCount>"
            f"{encoding}<IsTruncated>false</IsTruncated>{contents}{common}</ListBucketResult>"
        )
        return Answer(200, body.encode(), {"Content-Type": "application/xml"})

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        store = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                self._send(store.answer("GET", self.path, self.headers.get("Range")))

            def do_HEAD(self) -> None:
                self._send(store.answer("HEAD", self.path, self.headers.get("Range")))

            def _send(self, answer: Answer) -> None:
                length = len(answer.body) if answer.length is None else answer.length
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(length))
                self.end_headers()
                body = b"" if self.command == "HEAD" else answer.body
                half = len(body) // 2 if answer.pause else len(body)
                with suppress(OSError):  # a client that has had enough
                    self.wfile.write(body[:half])
                    self.wfile.flush()
                    sleep(answer.pause)
                    self.wfile.write(body[half:])
                self.close_connection = length != len(answer.body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


def quoted(key: str, *, is_encoded: bool) -> str:
    return escape(quote(key) if is_encoded else key)


def refused(status: int, code: str, **headers: str) -> Answer:
    """An answer that gives nothing, as S3 words it."""
    body = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>{code}</Message></Error>'
    return Answer(status, body.encode(), {"Content-Type": "application/xml", **headers})
