"""Which versions of which APIs both sides speak (KIP-35, KIP-511)."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from replication.protocol.error_code import ErrorCode, code_of
from replication.protocol.errors import UnsupportedVersionError, raise_for
from replication.protocol.wire.schema import RequestPayload, request_classes

DEFAULT_CLIENT_ID: Final = "epochlog"


API_KEY: Final = 18
VERSIONS: Final = range(5)

_SINCE_SOFTWARE: Final = 3
_NAME: Final = "ApiVersions"
_PACKAGE: Final = "epochlog"


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


def negotiate() -> Generator[RequestPayload, Any, ApiVersions]:
    """Ask a broker what it speaks; yields kio's requests and is sent kio's responses.

    A broker that does not know our version of the question answers in version 0, with an error and the versions of
    the question that it knows; before Kafka 2.4 with the error alone.
    """
    asked = VERSIONS.stop - 1
    answer = yield _request(asked)
    if code_of(answer.error_code) is ErrorCode.UNSUPPORTED_VERSION:
        told = _told(answer) if answer.api_keys else ApiVersions({API_KEY: range(1)})
        answer = yield _request(told.highest(API_KEY, _NAME, range(asked)))
    raise_for(code_of(answer.error_code), _NAME)
    return _told(answer)


def is_unsupported(body: memoryview) -> bool:
    """Whether the body of an answer to ApiVersions, of any version, says that the question's version is not known."""
    return body[:2] == ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")


def _request(asked: int) -> RequestPayload:
    software = (
        {"client_software_name": DEFAULT_CLIENT_ID, "client_software_version": _software_version()}
        if asked >= _SINCE_SOFTWARE
        else {}
    )
    request: RequestPayload = request_classes(API_KEY, asked).ApiVersionsRequest(**software)
    return request


def _told(answer: Any) -> ApiVersions:
    return ApiVersions({api.api_key: range(api.min_version, api.max_version + 1) for api in answer.api_keys})


@cache
def _software_version() -> str:
    try:
        return version(_PACKAGE)
    except PackageNotFoundError:
        return "unknown"
