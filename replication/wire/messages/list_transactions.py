"""ListTransactions: the transactional ids that a broker coordinates (KIP-664, KIP-994, KIP-1152)."""

from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from replication.records.codec.codec import Since, Structs
from replication.records.codec.fields import Int16, Int32, Int64, Int64s, OptionalString, String, Strings
from replication.wire.error_code import ErrorCode, code_of
from replication.wire.messages.form import Form
from replication.wire.messages.request import Request


class ListedTransaction(NamedTuple):
    """A transactional id, and what its coordinator has come to with it (Kafka: TransactionListing)."""

    transactional_id: str
    producer_id: int
    state: str
    """Such as `Ongoing` or `CompleteCommit`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTransactions:
    """The answer to a ListTransactionsRequest (Kafka: ListTransactionsResponse)."""

    error: ErrorCode = ErrorCode.NONE
    """Of the whole answer, such as COORDINATOR_LOAD_IN_PROGRESS: nothing is listed then."""
    unknown_states: tuple[str, ...] = ()
    transactions: tuple[ListedTransaction, ...] = ()
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTransactionsRequest(Request[ListedTransactions]):
    """Asks a broker for the transactional ids that it coordinates (Kafka: ListTransactionsRequest)."""

    states: tuple[str, ...] = ()
    """Empty: in any state."""
    producer_ids: tuple[int, ...] = ()
    """Empty: of any producer."""
    longer_than_ms: int = -1
    """Only transactions that go on for longer; -1: all (v1)."""
    transactional_id_pattern: str | None = None
    """A regular expression; None: all (v2)."""


API_KEY: Final = 66
VERSIONS: Final = range(3)

_DURATION_SINCE: Final = 1
_PATTERN_SINCE: Final = 2


def list_transactions_versions(request: ListTransactionsRequest) -> range:
    """Return the versions that can carry a request: older ones know fewer filters."""
    if request.transactional_id_pattern is not None:
        return range(_PATTERN_SINCE, VERSIONS.stop)
    return VERSIONS if request.longer_than_ms < 0 else range(_DURATION_SINCE, VERSIONS.stop)


class _Request(NamedTuple):
    states: Strings
    producer_ids: Int64s
    longer_than_ms: Annotated[Int64, Since(_DURATION_SINCE)] = -1
    transactional_id_pattern: Annotated[OptionalString, Since(_PATTERN_SINCE)] = None


class _Transaction(NamedTuple):
    transactional_id: String
    producer_id: Int64
    state: String


class _Response(NamedTuple):
    throttle_time_ms: Int32
    error: Int16
    unknown_states: Strings
    transactions: Annotated[tuple[_Transaction, ...], Structs(_Transaction)]


def _encode_request(request: ListTransactionsRequest, _: int) -> _Request:
    return _Request(request.states, request.producer_ids, request.longer_than_ms, request.transactional_id_pattern)


def _decode_request(fields: _Request, _: int) -> ListTransactionsRequest:
    return ListTransactionsRequest(
        states=fields.states,
        producer_ids=fields.producer_ids,
        longer_than_ms=fields.longer_than_ms,
        transactional_id_pattern=fields.transactional_id_pattern,
    )


def _encode_response(response: ListedTransactions, _: int) -> _Response:
    listed = tuple(_Transaction(*each) for each in response.transactions)
    return _Response(response.throttle_time_ms, response.error, response.unknown_states, listed)


def _decode_response(fields: _Response, _: int) -> ListedTransactions:
    return ListedTransactions(
        error=code_of(fields.error),
        unknown_states=fields.unknown_states,
        transactions=tuple(ListedTransaction(*each) for each in fields.transactions),
        throttle_time_ms=fields.throttle_time_ms,
    )


REQUEST: Final = Form("ListTransactionsRequest", _Request, 0, _encode_request, _decode_request)
RESPONSE: Final = Form("ListTransactionsResponse", _Response, 0, _encode_response, _decode_response)
