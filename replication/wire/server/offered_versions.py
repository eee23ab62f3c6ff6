"""What a server says that it can do (KIP-35, KIP-511, KIP-584)."""

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from replication.records.codec.gathered import Part
from replication.wire.encoding.framing import framed_parts
from replication.wire.encoding.headers import write_response_header
from replication.wire.error_code import ErrorCode
from replication.wire.messages import api_versions
from replication.wire.messages.api_versions import ApiVersions, ApiVersionsRequest, ApiVersionsResponse
from replication.wire.server.authentication import (
    AUTHENTICATE_VERSIONS,
    HANDSHAKE_VERSIONS,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
)
from replication.wire.server.call import Call
from replication.wire.server.served_api import ServedApis

_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_SINCE_SOFTWARE: Final = 3
_OWN: Final = {
    SASL_HANDSHAKE: HANDSHAKE_VERSIONS,
    api_versions.API_KEY: api_versions.VERSIONS,
    SASL_AUTHENTICATE: AUTHENTICATE_VERSIONS,
}
_UNSUPPORTED: Final = ApiVersionsResponse(
    error=ErrorCode.UNSUPPORTED_VERSION, versions=ApiVersions({api_versions.API_KEY: api_versions.VERSIONS})
)


class Features(NamedTuple):
    """The features of a cluster, by name."""

    supported: Mapping[str, range] = {}
    """The levels that this server supports."""
    finalized: Mapping[str, range] = {}
    """The levels that the cluster has agreed on."""
    epoch: int = -1
    """The metadata offset of which these are; -1 if it is not known."""


class OfferedVersions:
    """Answers ApiVersions."""

    def __init__(self, apis: ServedApis, features: Callable[[], Features] = Features) -> None:
        """Offer these, and those by which a connection begins."""
        every = {key: api.versions for key, api in apis.items()} | _OWN
        self._versions: Final = ApiVersions(dict(sorted(every.items())))
        self._features: Final = features

    def answer(self, request: ApiVersionsRequest, call: Call) -> ApiVersionsResponse:
        """Return the versions and the features, or INVALID_REQUEST to who gives its software no proper name."""
        if call.version >= _SINCE_SOFTWARE and not _is_named(request):
            return ApiVersionsResponse(error=ErrorCode.INVALID_REQUEST, versions=ApiVersions({}))
        supported, finalized, epoch = self._features()
        return ApiVersionsResponse(
            versions=self._versions,
            supported_features=supported,
            finalized_features=finalized,
            finalized_features_epoch=epoch,
        )


def unsupported_version(correlation_id: int) -> list[Part]:
    """Return the answer to ApiVersions in a version that nobody knows: in version 0, with those that are known."""
    header = write_response_header(correlation_id, flexible=False)
    return framed_parts([header, api_versions.RESPONSE.write(_UNSUPPORTED, 0)])


def _is_named(request: ApiVersionsRequest) -> bool:
    names = (request.client_software_name, request.client_software_version)
    return all(_SOFTWARE.fullmatch(name) for name in names)
