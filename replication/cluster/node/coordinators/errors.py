"""Errors of a broker that finds nobody to coordinate groups and transactions in its place."""

from collections.abc import Mapping, Sequence
from typing import Final

from replication.base.errors import ReplicationError
from replication.wire.error_code import ErrorCode
from replication.wire.errors import KafkaError

STARTS_WITHOUT: Final = "start.without.coordinators"
"""The property of a broker that starts all the same."""
_WITHOUT: Final = f"set {STARTS_WITHOUT}=true if groups and transactions are not needed"


class NoCoordinatorError(ReplicationError, RuntimeError):
    """No other broker of the cluster coordinates groups and transactions."""

    def __init__(self, broker_id: int, others: Mapping[int, str]) -> None:
        """Create it with the reason for each of the other brokers, by their ids."""
        told = f"no other broker can: {_each(others)}" if others else "its cluster has no other broker"
        super().__init__(
            f"broker {broker_id} coordinates neither groups nor transactions, and {told}; "
            f"start those that do, Kafka's, before this one, or {_WITHOUT}"
        )


class TooFewCoordinatorsError(ReplicationError, RuntimeError):
    """A topic of coordinators has to be made, and there are too few other brokers for its replicas."""

    def __init__(
        self, topic: str, setting: str, wanted: int, *, of: int, coordinators: Sequence[int], others: Mapping[int, str]
    ) -> None:
        """Create it with the replicas that a setting of broker `of` wants, the coordinators, and the others."""
        able = ", ".join(map(str, coordinators))
        rest = f" ({_each(others)})" if others else ""
        super().__init__(
            f"{topic} is not there yet, and has to be made on other brokers: {setting} of broker {of} is {wanted}, "
            f"and only {len(coordinators)} can have a replica, {able}{rest}; start more of them, lower "
            f"{setting} in their files, or set cordoned.log.dirs=* here (Kafka 4.3 and later) or {STARTS_WITHOUT}=true"
        )


class TopicNotMadeError(KafkaError):
    """The controller refuses to make a topic of coordinators."""

    def __init__(self, topic: str, code: ErrorCode, reason: str | None) -> None:
        """Create it with the controller's answer."""
        super().__init__(code, f"{topic}, which other brokers need to coordinate, is not made{_because(reason)}")


def _each(others: Mapping[int, str]) -> str:
    return "; ".join(f"broker {number} {reason}" for number, reason in sorted(others.items()))


def _because(reason: str | None) -> str:
    return f" ({reason})" if reason else ""
