"""ApiVersions: which versions of which APIs a broker speaks, and its features (KIP-35, KIP-511, KIP-584)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, NamedTuple

from replication.records.codec.codec import Since, Structs, Tag
from replication.records.codec.fields import Bool, Int16, Int32, Int64, OptionalString, String
from replication.wire.error_code import ErrorCode, code_of
from replication.wire.errors import UnsupportedVersionError
from replication.wire.messages.form import Form
from replication.wire.messages.request import Request

API_KEY: Final = 18
VERSIONS: Final = range(5)
"""5 is for those who know which broker of which cluster they have to reach."""
SERVED: Final = range(6)

_FLEXIBLE_SINCE: Final = 3
_SINCE_MINIMUM_0: Final = 4
"""Older versions cannot carry a feature that is supported from 0 on (KAFKA-17011)."""


@dataclass(frozen=True, slots=True)
class ApiVersions:
    """The versions that a broker answers, by API key (Kafka: NodeApiVersions)."""

    theirs: Mapping[int, range]

    def highest(self, api_key: int, name: str, ours: range) -> int:
        """Return the highest version in `ours` that the broker answers; UnsupportedVersionError if there is none."""
        theirs = self.theirs.get(api_key)
        if theirs is None:
            raise UnsupportedVersionError(name, ours, None)
        highest = min(ours.stop, theirs.stop) - 1
        if highest < max(ours.start, theirs.start):
            raise UnsupportedVersionError(name, ours, theirs)
        return highest


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsResponse:
    """The answer to an ApiVersionsRequest (Kafka: ApiVersionsResponse)."""

    error: ErrorCode = ErrorCode.NONE
    """UNSUPPORTED_VERSION, in version 0, where the broker does not know the request's version."""
    versions: ApiVersions
    throttle_time_ms: int = 0
    supported_features: Mapping[str, range] = field(default_factory=dict)
    """The levels that the broker supports of each feature (v3)."""
    finalized_features_epoch: int = -1
    """The metadata offset of which the finalized features are; -1 if it is not known."""
    finalized_features: Mapping[str, range] = field(default_factory=dict)
    """The levels of each feature that the cluster has agreed on: the lowest and the highest (v3)."""
    zk_migration_ready: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsRequest(Request[ApiVersionsResponse]):
    """Asks which versions a broker speaks, and says who asks (Kafka: ApiVersionsRequest)."""

    client_software_name: str = ""
    """Letters, digits, dots and hyphens; required from version 3 on."""
    client_software_version: str = ""
    cluster_id: str | None = None
    """The cluster that is to answer, or None (KIP-1242; v5)."""
    node_id: int = -1
    """The broker that is to answer, or -1; one that is not it answers REBOOTSTRAP_REQUIRED."""
    asked_in: range = field(default=VERSIONS, compare=False)
    """Of these versions the highest is used. It is not a part of the message."""


def api_versions_versions(request: ApiVersionsRequest) -> range:
    """Return the versions that can carry a request."""
    return request.asked_in


def is_unsupported(body: memoryview) -> bool:
    """Whether the body of an answer to ApiVersions, of any version, says that the question's version is not known."""
    return body[:2] == ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")


class _Request(NamedTuple):
    client_software_name: Annotated[String, Since(3, ignorable=True)] = ""
    client_software_version: Annotated[String, Since(3, ignorable=True)] = ""
    cluster_id: Annotated[OptionalString, Since(5, ignorable=True)] = None
    node_id: Annotated[Int32, Since(5, ignorable=True)] = -1


class _Api(NamedTuple):
    key: Int16
    lowest: Int16
    highest: Int16


class _SupportedFeature(NamedTuple):
    name: String
    lowest: Int16
    highest: Int16


class _FinalizedFeature(NamedTuple):
    name: String
    highest: Int16
    lowest: Int16


class _Response(NamedTuple):
    error: Int16
    apis: Annotated[tuple[_Api, ...], Structs(_Api)]
    throttle_time_ms: Annotated[Int32, Since(1, ignorable=True)] = 0
    supported_features: Annotated[
        tuple[_SupportedFeature, ...], Structs(_SupportedFeature), Since(3, ignorable=True), Tag(0)
    ] = ()
    finalized_features_epoch: Annotated[Int64, Since(3, ignorable=True), Tag(1)] = -1
    finalized_features: Annotated[
        tuple[_FinalizedFeature, ...], Structs(_FinalizedFeature), Since(3, ignorable=True), Tag(2)
    ] = ()
    zk_migration_ready: Annotated[Bool, Since(3, ignorable=True), Tag(3)] = False


def _encode_request(request: ApiVersionsRequest, _: int) -> _Request:
    return _Request(request.client_software_name, request.client_software_version, request.cluster_id, request.node_id)


def _decode_request(fields: _Request, _: int) -> ApiVersionsRequest:
    name, version, cluster_id, node_id = fields
    return ApiVersionsRequest(
        client_software_name=name, client_software_version=version, cluster_id=cluster_id, node_id=node_id
    )


def _encode_response(response: ApiVersionsResponse, version: int) -> _Response:
    return _Response(
        response.error,
        tuple(_Api(key, known.start, known.stop - 1) for key, known in response.versions.theirs.items()),
        response.throttle_time_ms,
        tuple(
            _SupportedFeature(name, levels.start, levels.stop - 1)
            for name, levels in response.supported_features.items()
            if levels.start or version >= _SINCE_MINIMUM_0
        ),
        response.finalized_features_epoch,
        tuple(
            _FinalizedFeature(name, levels.stop - 1, levels.start)
            for name, levels in response.finalized_features.items()
        ),
        response.zk_migration_ready,
    )


def _decode_response(fields: _Response, _: int) -> ApiVersionsResponse:
    return ApiVersionsResponse(
        error=code_of(fields.error),
        versions=ApiVersions({key: range(lowest, highest + 1) for key, lowest, highest in fields.apis}),
        throttle_time_ms=fields.throttle_time_ms,
        supported_features={name: range(lowest, highest + 1) for name, lowest, highest in fields.supported_features},
        finalized_features_epoch=fields.finalized_features_epoch,
        finalized_features={name: range(lowest, highest + 1) for name, highest, lowest in fields.finalized_features},
        zk_migration_ready=fields.zk_migration_ready,
    )


REQUEST: Final = Form("ApiVersionsRequest", _Request, _FLEXIBLE_SINCE, _encode_request, _decode_request)
RESPONSE: Final = Form("ApiVersionsResponse", _Response, _FLEXIBLE_SINCE, _encode_response, _decode_response)
