"""A request as the other side of a connection receives it, and its answer as it is sent.

>>> frame = bytes.fromhex("003c0000 00000007 ffff 00" + "00 00")  # DescribeCluster 0, the 7th of a connection
>>> received = ReceivedRequest.of(frame)
>>> received.header.correlation_id, received.request.include_cluster_authorized_operations
(7, False)
"""

from typing import Any, Final, NamedTuple, Self

from replication.records.codec.fields import Data
from replication.records.codec.gathered import Part
from replication.records.codec.item_limit import at_most_items
from replication.wire.encoding.framing import framed_parts
from replication.wire.encoding.headers import (
    RequestHeader,
    RequestStart,
    read_request_header,
    read_request_start,
    write_response_header,
)
from replication.wire.errors import UnsupportedRequestError
from replication.wire.messages.api import Api
from replication.wire.messages.apis import api_with

MOST_ITEMS: Final = 200_000
"""Of one request, such as partitions of a Fetch: so many partitions a whole cluster of ZooKeeper's era might have."""

# Half the cost of calling a NamedTuple's class.
_build: Final = tuple.__new__


class ReceivedRequest(NamedTuple):
    """A request with its header."""

    header: RequestHeader
    api: Api
    request: Any
    """Our own class where we have the API, else kio's."""

    @classmethod
    def of(cls, frame: Data, start: RequestStart | None = None) -> Self:
        """Read what a frame holds, of which `start` may be read already.

        UnsupportedRequestError for an API or a version that is not known, MalformedRequestError for anything else that
        is no request. `read_request_start` reads the correlation id of both.
        """
        start = start or read_request_start(frame)
        api = api_with(start.api_key)
        if api is None or start.api_version not in api.served:
            known = (
                f"{api.name} is known in {api.served.start} to {api.served.stop - 1}" if api else "no such API is known"
            )
            raise UnsupportedRequestError(f"a request of API {start.api_key} in version {start.api_version}: {known}")
        with at_most_items(MOST_ITEMS):
            header, position = read_request_header(frame, flexible=api.is_flexible(start.api_version))
            request = api.request.read(memoryview(frame)[position:], start.api_version)
        received: Self = _build(cls, (header, api, request))
        return received

    def answered(self, response: Any) -> bytes:
        """Return the frame of an answer; InvalidMessageError if the request's version cannot say it."""
        return b"".join(self.answer_parts(response))

    def answer_parts(self, response: Any) -> list[Part]:
        """Return what makes up the frame of an answer, with larger views of records as they are; errors as above."""
        version = self.header.api_version
        header = write_response_header(self.header.correlation_id, flexible=self.api.is_answer_flexible(version))
        return framed_parts([header, *self.api.response.write_parts(response, version)])
