"""What can be asked: one entry for each kind of request, with its API, its versions and its two translations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kio.static.protocol import RequestPayload

from replication.protocol import fetch, list_offsets, metadata, offset_for_leader_epoch
from replication.protocol.fetch import FetchRequest, FetchResponse
from replication.protocol.fetch_bytes import write_fetch
from replication.protocol.list_offsets import ListOffsetsRequest
from replication.protocol.metadata import MetadataRequest
from replication.protocol.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from replication.protocol.request import Request
from replication.protocol.schema import request_classes, write


@dataclass(frozen=True, slots=True)
class Api:
    """How one kind of request is asked and answered."""

    key: int
    name: str
    versions: Callable[[Any], range]
    """Returns the versions that can carry a request."""
    write: Callable[[Any, int], bytes]
    """Returns a request as bytes, in a version."""
    decode: Callable[[Any, Any], Any]
    """Returns the answer to a request, given in kio's terms."""

    def request_class(self, version: int) -> type[RequestPayload]:
        """Return kio's class of the request, from which its header and its answer follow."""
        found: type[RequestPayload] = getattr(request_classes(self.key, version), f"{self.name}Request")
        return found


def api_of(request: Request[Any] | RequestPayload) -> Api:
    """Return the API of a request of ours, or of one in kio's terms, which is answered in kio's terms."""
    return _OURS.get(type(request)) or _kio_api(request)


def _kio_api(request: Any) -> Api:
    """Return the API of a request that is of one version and needs no translation."""
    version: int = request.__version__
    return Api(
        request.__api_key__,
        type(request).__name__.removesuffix("Request"),
        lambda _: range(version, version + 1),
        lambda request, _: write(request),
        lambda _, answer: answer,
    )


def _decode_fetch(request: FetchRequest, answer: Any) -> FetchResponse:
    return fetch.decode_fetch(answer, {topic_id: topic for topic, topic_id in request.topic_ids.items()})


_OURS: Final[Mapping[type, Api]] = {
    FetchRequest: Api(fetch.API_KEY, "Fetch", fetch.fetch_versions, write_fetch, _decode_fetch),
    OffsetForLeaderEpochRequest: Api(
        offset_for_leader_epoch.API_KEY,
        "OffsetForLeaderEpoch",
        lambda _: offset_for_leader_epoch.VERSIONS,
        lambda request, version: write(offset_for_leader_epoch.encode_offset_for_leader_epoch(request, version)),
        lambda _, answer: offset_for_leader_epoch.decode_offset_for_leader_epoch(answer),
    ),
    ListOffsetsRequest: Api(
        list_offsets.API_KEY,
        "ListOffsets",
        list_offsets.list_offsets_versions,
        lambda request, version: write(list_offsets.encode_list_offsets(request, version)),
        lambda _, answer: list_offsets.decode_list_offsets(answer),
    ),
    MetadataRequest: Api(
        metadata.API_KEY,
        "Metadata",
        lambda _: metadata.VERSIONS,
        lambda request, version: write(metadata.encode_metadata(request, version)),
        lambda _, answer: metadata.decode_metadata(answer),
    ),
}
