"""APIs of which we have no messages of our own: their requests and answers are kio's classes."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from replication.records.codec.fields import Data
from replication.records.codec.gathered import Part
from replication.wire.encoding.kio_messages import (
    RequestPayload,
    ResponsePayload,
    read,
    request_class,
    response_class,
    served_versions,
    write,
)
from replication.wire.messages.api import Api


@dataclass(frozen=True, slots=True)
class _Requests:
    api_key: int

    def write(self, message: RequestPayload, _: int) -> bytes:
        return write(message)

    def read(self, data: Data, version: int) -> Any:
        return read(request_class(self.api_key, version), data)


@dataclass(frozen=True, slots=True)
class _Responses:
    api_key: int

    def write(self, message: ResponsePayload, _: int) -> bytes:
        return write(message)

    def write_parts(self, message: ResponsePayload, _: int) -> list[Part]:
        return [write(message)]

    def read(self, data: Data, version: int) -> Any:
        return read(response_class(self.api_key, version), data)


@cache
def kio_api(api_key: int) -> Api | None:
    """Return an API by its key, or None where kio has none."""
    served = served_versions(api_key)
    if served is None:
        return None
    responses = _Responses(api_key)
    flexible = [version for version in served if request_class(api_key, version).__flexible__]
    return Api(
        key=api_key,
        name=request_class(api_key, served.start).__name__.removesuffix("Request"),
        served=served,
        versions=lambda request: range(request.__version__, request.__version__ + 1),
        flexible_since=min(flexible, default=served.stop),
        request=_Requests(api_key),
        response=responses,
        read_answer=lambda _, data, version: responses.read(data, version),
    )
