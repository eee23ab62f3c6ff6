"""Elections on a running cluster: requested until a broker answers, as Kafka's admin client does."""

import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from replication.base.back_off import BackOff
from replication.base.errors import ReplicationError
from replication.cluster.operations.election_report import error_text
from replication.cluster.operations.tool_error import ToolError
from replication.wire.addresses import Address, parse_addresses
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.cluster_client import ClusterClient
from replication.wire.client.deadline import Deadline
from replication.wire.error_code import ErrorCode
from replication.wire.errors import (
    ConnectionClosedError,
    ConnectionFailedError,
    InvalidAddressError,
    NoBrokerError,
    RequestTimedOutError,
    UnknownBrokerError,
    UnsupportedVersionError,
)
from replication.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse

TIMED_OUT: Final = "Timeout waiting for election results"
CANNOT_BEGIN: Final = "Failed to create an admin client"
NO_BROKER: Final = error_text(ErrorCode.UNSUPPORTED_VERSION, "The node does not support METADATA")
NOT_AUTHORIZED: Final = "Not authorized to perform leader election"

_TRANSIENT: Final = (
    ConnectionClosedError,
    ConnectionFailedError,
    NoBrokerError,
    RequestTimedOutError,
    UnknownBrokerError,
)
"""Errors that may pass soon: a broker is starting, or another one takes over."""


def bootstrap_addresses(text: str) -> tuple[Address, ...]:
    """Parse the addresses of brokers. Raises ToolError if one is invalid, or if no host can be resolved."""
    try:
        addresses = parse_addresses(text)
    except InvalidAddressError as error:
        raise ToolError(CANNOT_BEGIN, str(error)) from error
    if not any(_is_known(address) for address in addresses):
        raise ToolError(CANNOT_BEGIN, f"{text}: no such host; check the names")
    return addresses


def _is_known(address: Address) -> bool:
    try:
        socket.getaddrinfo(address.host, address.port)
    except OSError:
        return False
    return True


def hold_elections(
    bootstrap: Iterable[Address],
    settings: ClientSettings,
    request: ElectLeadersRequest,
    *,
    pause: Callable[[float], None] = time.sleep,
) -> ElectLeadersResponse:
    """Request leader elections of the controller, within the request's time-out for all attempts together.

    After each failed attempt it waits, twice as long as before, up to a second (KIP-580). Raises ToolError if
    no broker answers in time or the request is refused as a whole, and ReplicationError if a retry cannot help.
    """
    deadline = Deadline(request.timeout_ms / 1000)
    back_off = BackOff()
    settings = replace(settings, connect_timeout_ms=min(settings.connect_timeout_ms, request.timeout_ms))
    with ClusterClient(bootstrap, settings) as client:
        while True:
            try:
                return accepted(_ask_controller(client, request, deadline))
            except _TRANSIENT as error:
                seconds = back_off.failed() / 1000
                if deadline.left() <= seconds:
                    raise timed_out(error) from error
            client.ask_another()
            pause(seconds)


def _ask_controller(client: ClusterClient, request: ElectLeadersRequest, deadline: Deadline) -> ElectLeadersResponse:
    """Ask the broker that is, or forwards to, the controller."""
    try:
        controller = client.connection_to(client.metadata().controller_id)
    except UnsupportedVersionError as error:
        raise ToolError(NO_BROKER, f"{error}; if this is a controller's listener, use brokers' addresses") from error
    left_ms = max(1, int(deadline.left() * 1000))
    answer_within = min(left_ms, client.settings.request_timeout_ms)
    return controller.ask(replace(request, timeout_ms=left_ms), answer_within)


def accepted(response: ElectLeadersResponse) -> ElectLeadersResponse:
    """Return an answer unless the request was refused as a whole: then raise ToolError."""
    match response.error:
        case ErrorCode.NONE:
            return response
        case ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            raise ToolError(NOT_AUTHORIZED, "the user needs Alter on the cluster", on_output_too=True)
        case ErrorCode.REQUEST_TIMED_OUT:
            raise timed_out(None)
        case _:
            raise ToolError(error_text(response.error))


def timed_out(cause: ReplicationError | None) -> ToolError:
    """Return the error if no answer came in time."""
    reason = str(cause or "the controller did not decide in time")
    return ToolError(TIMED_OUT, reason, on_output_too=True, is_reason_first=cause is not None)
