"""WriteTxnMarkers: end transactions in partitions, as a coordinator does (KIP-98, KIP-890)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from logstore import TopicPartition
from replication.records.codec.codec import Since, Structs
from replication.records.codec.fields import Bool, Int8, Int16, Int32, Int32s, Int64, String
from replication.wire.error_code import ErrorCode, code_of
from replication.wire.messages.by_topic import by_topic
from replication.wire.messages.form import Form
from replication.wire.messages.request import Request


class TransactionMarker(NamedTuple):
    """The end of one producer's transaction (Kafka: WritableTxnMarker)."""

    producer_id: int
    producer_epoch: int
    is_commit: bool
    partitions: tuple[TopicPartition, ...]
    coordinator_epoch: int = 0
    """A leader refuses a marker of an earlier one than it has seen."""
    transaction_version: int = 0
    """2: the marker's epoch must be later than the records' (KIP-890; v2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenTxnMarkers:
    """The answer to a WriteTxnMarkersRequest: what became of each marker, by producer id."""

    results: Mapping[int, Mapping[TopicPartition, ErrorCode]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTxnMarkersRequest(Request[WrittenTxnMarkers]):
    """Asks the leader of partitions to write markers (Kafka: WriteTxnMarkersRequest)."""

    markers: tuple[TransactionMarker, ...]


API_KEY: Final = 27
VERSIONS: Final = range(1, 3)

_VERSION_SINCE: Final = 2
_FLEXIBLE_SINCE: Final = 1


def write_txn_markers_versions(request: WriteTxnMarkersRequest) -> range:
    """Return the versions that can carry a request: the first knows no transaction versions."""
    is_old = all(marker.transaction_version == 0 for marker in request.markers)
    return VERSIONS if is_old else range(_VERSION_SINCE, VERSIONS.stop)


class _Topic(NamedTuple):
    name: String
    partitions: Int32s


class _Marker(NamedTuple):
    producer_id: Int64
    producer_epoch: Int16
    is_commit: Bool
    topics: Annotated[tuple[_Topic, ...], Structs(_Topic)]
    coordinator_epoch: Int32
    transaction_version: Annotated[Int8, Since(_VERSION_SINCE)] = 0


class _Request(NamedTuple):
    markers: Annotated[tuple[_Marker, ...], Structs(_Marker)]


class _Result(NamedTuple):
    partition: Int32
    error: Int16


class _TopicResults(NamedTuple):
    name: String
    results: Annotated[tuple[_Result, ...], Structs(_Result)]


class _MarkerResults(NamedTuple):
    producer_id: Int64
    topics: Annotated[tuple[_TopicResults, ...], Structs(_TopicResults)]


class _Response(NamedTuple):
    markers: Annotated[tuple[_MarkerResults, ...], Structs(_MarkerResults)]


def _encode_request(request: WriteTxnMarkersRequest, _: int) -> _Request:
    return _Request(tuple(map(_marker, request.markers)))


def _marker(marker: TransactionMarker) -> _Marker:
    topics = by_topic((partition, None) for partition in marker.partitions)
    written = tuple(_Topic(topic, tuple(index for index, _ in entries)) for topic, entries in topics.items())
    return _Marker(*marker[:3], written, *marker[4:])


def _decode_request(fields: _Request, _: int) -> WriteTxnMarkersRequest:
    return WriteTxnMarkersRequest(
        markers=tuple(
            TransactionMarker(
                *marker[:3],
                tuple(TopicPartition(topic, index) for topic, indexes in marker.topics for index in indexes),
                *marker[4:],
            )
            for marker in fields.markers
        )
    )


def _encode_response(response: WrittenTxnMarkers, _: int) -> _Response:
    markers = (
        _MarkerResults(
            producer_id,
            tuple(
                _TopicResults(topic, tuple(_Result(*result) for result in results))
                for topic, results in by_topic(partitions.items()).items()
            ),
        )
        for producer_id, partitions in response.results.items()
    )
    return _Response(tuple(markers))


def _decode_response(fields: _Response, _: int) -> WrittenTxnMarkers:
    results: dict[int, dict[TopicPartition, ErrorCode]] = {}
    for producer_id, topics in fields.markers:
        told = results.setdefault(producer_id, {})
        for topic, partitions in topics:
            told.update({TopicPartition(topic, index): code_of(error) for index, error in partitions})
    return WrittenTxnMarkers(results=results)


REQUEST: Final = Form("WriteTxnMarkersRequest", _Request, _FLEXIBLE_SINCE, _encode_request, _decode_request)
RESPONSE: Final = Form("WriteTxnMarkersResponse", _Response, _FLEXIBLE_SINCE, _encode_response, _decode_response)
