"""What can go wrong between a client and a broker: the connection, the answer, and what the broker says."""

from collections.abc import Iterable, Mapping
from typing import Final

from replication.errors import ReplicationError
from replication.protocol.error_code import ErrorCode

# Addresses and settings


class InvalidAddressError(ReplicationError, ValueError):
    """What was given is no host and port."""

    def __init__(self, text: str, fault: str) -> None:
        super().__init__(
            f"{text!r} is no address: {fault}; write host:port, with commas between several and IPv6 in brackets, such "
            "as broker1:9092,[::1]:9092"
        )


class InvalidSettingsError(ReplicationError, ValueError):
    """Settings that contradict one another, or files in them that cannot be used."""


# The connection


class ConnectionFailedError(ReplicationError, ConnectionError):
    """No connection could be made."""

    def __init__(self, address: object, reason: str, advice: str = "check the host, the port and the network") -> None:
        self.address = address
        self.reason = reason
        super().__init__(f"{address}: cannot connect: {reason}; {advice}")


class NoBrokerError(ReplicationError, ConnectionError):
    """None of the addresses leads to a broker."""

    def __init__(self, errors: Mapping[object, Exception]) -> None:
        """Name why, by address."""
        self.errors = dict(errors)
        told = "; ".join(_reason(address, error) for address, error in errors.items())
        super().__init__(f"no broker answers: {told}")


class UnknownBrokerError(ReplicationError, LookupError):
    """The cluster's metadata does not name this broker: it is down, or was never there."""

    def __init__(self, broker_id: int, known: Iterable[int]) -> None:
        self.broker_id = broker_id
        ids = ", ".join(map(str, sorted(known))) or "none"
        super().__init__(f"broker {broker_id} is not in the cluster's metadata, which has {ids}; is it down?")


class ConnectionClosedError(ReplicationError, ConnectionError):
    """The connection is gone: closed by the broker, by the network or on this side."""

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
    """The broker refuses our password, or does not prove to know it (Kafka: SaslAuthenticationException)."""

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
    """No answer came in time."""

    def __init__(self, address: object, asked: str, seconds: float) -> None:
        self.address = address
        self.seconds = seconds
        super().__init__(
            f"{address}: no answer to {asked} within {seconds:g} s; is this a Kafka listener, and does it expect TLS?"
        )


# The answer


class MalformedResponseError(ReplicationError, ValueError):
    """What came is not the answer that the protocol prescribes."""


class MalformedRequestError(ReplicationError, ValueError):
    """What came is not a request that the protocol prescribes (Kafka: InvalidRequestException)."""


class UnsupportedRequestError(ReplicationError, NotImplementedError):
    """What came is a request that cannot be answered here: of another API or version, or about something else."""


class InvalidMessageError(ReplicationError, ValueError):
    """A message holds what its bytes cannot say: a number too large, or a field that the version lacks."""


class UnsupportedVersionError(ReplicationError, NotImplementedError):
    """There is no version of an API that both sides speak, or none that can say what is asked."""

    def __init__(self, api: str, ours: range, theirs: range | None, address: object = None) -> None:
        self.api = api
        self.ours = ours
        self.theirs = theirs
        told = f"versions {_span(theirs)}" if theirs else "none"
        super().__init__(
            f"{address or 'the broker'}: {api} is answered in {told}, this request can be made in {_span(ours)}"
        )


def _span(versions: range) -> str:
    first, last = versions.start, versions.stop - 1
    return str(first) if first == last else f"{first} to {last}"


def _reason(address: object, error: Exception) -> str:
    told = str(error)
    return told if str(address) in told else f"{address}: {told}"


# What the broker says


class KafkaError(ReplicationError, RuntimeError):
    """An error code in an answer (Kafka: ApiException and its subclasses)."""

    def __init__(self, code: ErrorCode, message: str = "") -> None:
        self.code = code
        self.name = code.name
        """As in Kafka's documentation, such as NOT_LEADER_OR_FOLLOWER."""
        self.retriable = code.retriable
        """Whether the same request may succeed later."""
        super().__init__(f"{message}: {self.name} ({int(code)})" if message else f"{self.name} ({int(code)})")


class OffsetNotInLogError(KafkaError):
    """OFFSET_OUT_OF_RANGE: the offset lies before the leader's log start or past its end."""


class UnknownTopicOrPartitionError(KafkaError):
    """UNKNOWN_TOPIC_OR_PARTITION: the broker does not know it, yet or any more."""


class NotLeaderOrFollowerError(KafkaError):
    """NOT_LEADER_OR_FOLLOWER: somebody else leads by now."""


class FencedLeaderEpochError(KafkaError):
    """FENCED_LEADER_EPOCH: the leader leads in a later epoch than the request says (KIP-320)."""


class UnknownLeaderEpochError(KafkaError):
    """UNKNOWN_LEADER_EPOCH: the broker has not heard yet of the epoch that the request says (KIP-320)."""


class FetchSessionError(KafkaError):
    """The fetch session is not known, or out of step: fetch in full, in a new one (KIP-227)."""


class UnknownTopicIdError(KafkaError):
    """UNKNOWN_TOPIC_ID: the topic was deleted, or the broker has not heard of it yet (KIP-516)."""


class InconsistentTopicIdError(KafkaError):
    """INCONSISTENT_TOPIC_ID: the broker's topic of this name is another one (KIP-516)."""


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
    """Return the exception for an error code: `message` says what was asked of whom."""
    return _CLASSES.get(code, KafkaError)(code, message)


def raise_for(code: ErrorCode, message: str = "") -> None:
    """Raise the exception for an error code, unless it says that there is no error."""
    if code is not ErrorCode.NONE:
        raise error_for(code, message)
