"""Errors between a client and a broker: of the connection, of a response, and error codes in it."""

from collections.abc import Iterable, Mapping
from typing import Final

from replication.base.errors import ReplicationError
from replication.wire.error_code import ErrorCode

# Addresses and settings


class InvalidAddressError(ReplicationError, ValueError):
    """The text is not an address of a host and port."""

    def __init__(self, text: str, fault: str) -> None:
        self.fault = fault
        """What is wrong with it."""
        super().__init__(
            f"{text!r} is not an address: {fault}; write host:port, separated by commas, and IPv6 in brackets, such "
            "as broker1:9092,[::1]:9092"
        )


class InvalidSettingsError(ReplicationError, ValueError):
    """Settings contradict each other, or name files that cannot be used."""


# The connection


class ConnectionFailedError(ReplicationError, ConnectionError):
    """No connection could be made."""

    def __init__(self, address: object, reason: str, advice: str = "check the host, the port and the network") -> None:
        self.address = address
        self.reason = reason
        super().__init__(f"{address}: cannot connect: {reason}; {advice}")


class NoBrokerError(ReplicationError, ConnectionError):
    """No broker answers at any of the addresses."""

    def __init__(self, errors: Mapping[object, Exception]) -> None:
        """Create it with the reason for each address."""
        self.errors = dict(errors)
        told = "; ".join(_reason(address, error) for address, error in errors.items())
        super().__init__(f"no broker answers: {told}")


class UnknownBrokerError(ReplicationError, LookupError):
    """The cluster's metadata does not name this broker: it is down, or does not exist."""

    def __init__(self, broker_id: int, known: Iterable[int]) -> None:
        self.broker_id = broker_id
        ids = ", ".join(map(str, sorted(known))) or "none"
        super().__init__(f"broker {broker_id} is not in the cluster's metadata, which has {ids}; is it down?")


class ConnectionClosedError(ReplicationError, ConnectionError):
    """The connection was closed, by the broker, by the network or on this side."""

    def __init__(self, address: object, reason: str) -> None:
        self.address = address
        super().__init__(f"{address}: {reason}")


class CertificateRefusedError(ReplicationError, ConnectionError):
    """One side does not accept the other's certificate."""

    def __init__(self, address: object, reason: str, advice: str) -> None:
        self.address = address
        self.reason = reason
        super().__init__(f"{address}: {reason}; {advice}")


class AuthenticationFailedError(ReplicationError, PermissionError):
    """The broker refuses the password, or does not prove that it knows it (Kafka: SaslAuthenticationException)."""

    def __init__(
        self,
        reason: str,
        advice: str = "check the user name, the password and the SASL mechanism",
        address: object = None,
    ) -> None:
        self.address = address
        self.reason = reason
        self.advice = advice
        where = f"{address}: " if address else ""
        super().__init__(f"{where}authentication failed: {reason}; {advice}")


class RequestTimedOutError(ReplicationError, TimeoutError):
    """No response came in time."""

    def __init__(self, address: object, asked: str, seconds: float, *, has_worked: bool = False) -> None:
        """Create it; `has_worked` says whether the listener has worked before, as in `Connection`."""
        self.address = address
        self.seconds = seconds
        doubt = "is this a Kafka listener, and does it expect TLS?"
        advice = "it has worked before: does the broker hang, or the network?" if has_worked else doubt
        super().__init__(f"{address}: no response to {asked} within {seconds:g} s; {advice}")


# The answer


class MalformedResponseError(ReplicationError, ValueError):
    """A response does not conform to the protocol."""


class MalformedRequestError(ReplicationError, ValueError):
    """A request does not conform to the protocol (Kafka: InvalidRequestException)."""


class UnsupportedRequestError(ReplicationError, NotImplementedError):
    """A request cannot be answered here: its API, version or subject is not supported."""


class InvalidMessageError(ReplicationError, ValueError):
    """A message cannot be encoded: a number is too large, or the version lacks a field."""


class UnsupportedVersionError(ReplicationError, NotImplementedError):
    """Both sides support no common version of an API, or none that can express the request."""

    def __init__(self, api: str, ours: range, theirs: range | None, address: object = None) -> None:
        self.api = api
        self.ours = ours
        self.theirs = theirs
        told = f"versions {_span(theirs)}" if theirs else "none"
        super().__init__(
            f"{address or 'the broker'}: {api} is supported in {told}, this request can be sent in {_span(ours)}"
        )


def _span(versions: range) -> str:
    first, last = versions.start, versions.stop - 1
    return str(first) if first == last else f"{first} to {last}"


def _reason(address: object, error: Exception) -> str:
    told = str(error)
    return told if str(address) in told else f"{address}: {told}"


# What the broker says


class KafkaError(ReplicationError, RuntimeError):
    """An error code in a response (Kafka: ApiException and its subclasses)."""

    def __init__(self, code: ErrorCode, message: str = "") -> None:
        self.code = code
        self.name = code.name
        """As in Kafka's documentation, such as NOT_LEADER_OR_FOLLOWER."""
        self.retriable = code.retriable
        """Whether the same request may succeed later."""
        super().__init__(f"{message}: {self.name} ({int(code)})" if message else f"{self.name} ({int(code)})")


class OffsetNotInLogError(KafkaError):
    """OFFSET_OUT_OF_RANGE: the offset is before the leader's log start or after its end."""


class UnknownTopicOrPartitionError(KafkaError):
    """UNKNOWN_TOPIC_OR_PARTITION: the broker does not know it, not yet or no longer."""


class NotLeaderOrFollowerError(KafkaError):
    """NOT_LEADER_OR_FOLLOWER: another broker leads."""


class FencedLeaderEpochError(KafkaError):
    """FENCED_LEADER_EPOCH: the leader's epoch is later than the request's (KIP-320)."""


class UnknownLeaderEpochError(KafkaError):
    """UNKNOWN_LEADER_EPOCH: the broker does not know the request's epoch yet (KIP-320)."""


class FetchSessionError(KafkaError):
    """The fetch session is not known, or out of step: fetch in full, in a new one (KIP-227)."""


class UnknownTopicIdError(KafkaError):
    """UNKNOWN_TOPIC_ID: the topic was deleted, or the broker does not know it yet (KIP-516)."""


class InconsistentTopicIdError(KafkaError):
    """INCONSISTENT_TOPIC_ID: the broker's topic of this name has another id (KIP-516)."""


_CLASSES: Final[Mapping[ErrorCode, type[KafkaError]]] = {
    ErrorCode.OFFSET_OUT_OF_RANGE: OffsetNotInLogError,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: UnknownTopicOrPartitionError,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: NotLeaderOrFollowerError,
    ErrorCode.FENCED_LEADER_EPOCH: FencedLeaderEpochError,
    ErrorCode.UNKNOWN_LEADER_EPOCH: UnknownLeaderEpochError,
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND: FetchSessionError,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH: FetchSessionError,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR: FetchSessionError,
    ErrorCode.UNKNOWN_TOPIC_ID: UnknownTopicIdError,
    ErrorCode.INCONSISTENT_TOPIC_ID: InconsistentTopicIdError,
}


def error_for(code: ErrorCode, message: str = "") -> KafkaError:
    """Return the exception for an error code: `message` says which request failed, and where."""
    return _CLASSES.get(code, KafkaError)(code, message)


def raise_for(code: ErrorCode, message: str = "") -> None:
    """Raise the exception for an error code, unless it is NONE."""
    if code is not ErrorCode.NONE:
        raise error_for(code, message)
