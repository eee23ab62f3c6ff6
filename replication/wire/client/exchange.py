"""Requests and their answers as frames, without a socket: several may be under way, and are answered in order."""

from collections import deque
from typing import Any, Final, NamedTuple

from replication.wire.encoding.framing import framed
from replication.wire.encoding.headers import RequestHeader, read_response_header, write_request_header
from replication.wire.encoding.kio_messages import RequestPayload
from replication.wire.errors import MalformedResponseError
from replication.wire.messages import api_versions
from replication.wire.messages.api import Api
from replication.wire.messages.api_versions import ApiVersions
from replication.wire.messages.apis import api_of
from replication.wire.messages.request import Request

_MAX_CORRELATION_ID: Final = 0x7FFFFFFF


class _Asked(NamedTuple):
    correlation_id: int
    request: Request[Any] | RequestPayload
    api: Api
    version: int

    def __str__(self) -> str:
        return f"{self.api.name} v{self.version}"


class Exchange:
    """One connection's requests: numbers them, and knows which is answered next."""

    def __init__(self, client_id: str) -> None:
        """`versions` is what the broker speaks; until it is known requests in kio's terms go as they are."""
        self.versions: ApiVersions | None = None
        self._client_id = client_id
        self._next_id = 0
        self._asked: deque[_Asked] = deque()

    @property
    def in_flight(self) -> tuple[str, ...]:
        """What has not been answered yet, in order."""
        return tuple(map(str, self._asked))

    def ask(self, request: Request[Any] | RequestPayload) -> tuple[int, bytes]:
        """Return a request's correlation id and its frame; UnsupportedVersionError where the broker cannot read it."""
        api = api_of(request)
        ours = api.versions(request)
        version = self.versions.highest(api.key, api.name, ours) if self.versions else ours.stop - 1
        body = api.request.write(request, version)
        correlation_id = self._next_id
        header = RequestHeader(api.key, version, correlation_id, self._client_id)
        frame = framed(write_request_header(header, flexible=api.is_flexible(version)) + body)
        self._next_id = (correlation_id + 1) & _MAX_CORRELATION_ID
        self._asked.append(_Asked(correlation_id, request, api, version))
        return correlation_id, frame

    def answer(self, frame: memoryview) -> tuple[int, Any]:
        """Return the correlation id of the request that a frame answers, and the answer.

        MalformedResponseError where it is not the next request's, or not an answer at all.
        """
        if not self._asked:
            raise MalformedResponseError(f"a response of {len(frame):,} bytes came although no request was sent")
        asked = self._asked.popleft()
        try:
            return asked.correlation_id, _read(asked, frame)
        except MalformedResponseError as error:
            raise MalformedResponseError(f"the response to {asked} is malformed: {error}") from error


def _read(asked: _Asked, frame: memoryview) -> Any:
    correlation_id, start = read_response_header(frame, flexible=asked.api.is_answer_flexible(asked.version))
    if correlation_id != asked.correlation_id:
        raise MalformedResponseError(
            f"it has the correlation id {correlation_id}, but {asked.correlation_id} was expected"
        )
    body = frame[start:]
    unsupported = asked.api.key == api_versions.API_KEY and api_versions.is_unsupported(body)
    return asked.api.read_answer(asked.request, body, 0 if unsupported else asked.version)
