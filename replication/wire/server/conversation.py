"""From the frames of one connection to what is answered: no socket, no thread, no clock."""

import logging
from typing import Any, Final

from logstore.log.state.waiters import Waiter
from replication.base.errors import ReplicationError
from replication.records.codec.gathered import Part
from replication.wire.encoding.headers import RequestStart, read_request_start
from replication.wire.errors import MalformedRequestError, UnsupportedRequestError
from replication.wire.messages import api_versions, fetch
from replication.wire.server.authentication import (
    AUTHENTICATE_VERSIONS,
    HANDSHAKE_VERSIONS,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    Authentication,
)
from replication.wire.server.call import Call
from replication.wire.server.hang_up import HangUpError
from replication.wire.server.offered_versions import OfferedVersions, unsupported_version
from replication.wire.server.pending import NO_ANSWER, Pending
from replication.wire.server.received_request import ReceivedRequest
from replication.wire.server.request_times import RequestKind
from replication.wire.server.served_api import ServedApi, ServedApis

_LOGGER: Final = logging.getLogger("epochlog.server")
# Half the cost of calling a NamedTuple's class.
_build: Final = tuple.__new__


class Waiting:
    """A request whose answer has to wait."""

    def __init__(self, pending: Pending, received: ReceivedRequest) -> None:
        """Create it for a request and what it waits for."""
        self._pending: Final = pending
        self._received: Final = received

    @property
    def deadline(self) -> float:
        """When to look again at the latest, by `time.monotonic()`."""
        return self._pending.deadline

    def attend(self, waiter: Waiter) -> None:
        """Wake it from now on whenever there may be an answer."""
        self._pending.attend(waiter)

    def leave(self, waiter: Waiter) -> None:
        """Wake it no more."""
        self._pending.leave(waiter)

    def parts(self, now: float) -> list[Part] | None:
        """Return the frame of the answer, empty where none is wanted; None as long as there is none; or HangUpError."""
        try:
            answer = self._pending.answer()
            if answer is None and now >= self.deadline:
                answer = self._pending.expire()
            if answer is NO_ANSWER:
                return []
            return None if answer is None else self._received.answer_parts(answer)
        except HangUpError as error:
            _add_parts(error, self._received)
            raise
        except Exception as error:
            raise _hang_up(error, self._received) from error


class Conversation:
    """Answers the requests of one connection, one after the other.

    An unknown API or version, and anything that is no request, ends the connection without an answer; only the
    question for versions is answered in any version. So does Kafka.
    """

    def __init__(self, apis: ServedApis, offered: OfferedVersions, authentication: Authentication) -> None:
        """Answer these APIs, and those by which a connection begins."""
        self.kind: RequestKind | None = None
        """Of the request that came last; None where it was none."""
        self._authentication: Final = authentication
        self._apis: Final[ServedApis] = {
            **apis,
            api_versions.API_KEY: ServedApi(api_versions.VERSIONS, offered.answer),
            SASL_HANDSHAKE: ServedApi(HANDSHAKE_VERSIONS, authentication.handshake),
            SASL_AUTHENTICATE: ServedApi(AUTHENTICATE_VERSIONS, authentication.authenticate),
        }

    def receive(self, frame: memoryview) -> list[Part] | Waiting:
        """Return the frame of the answer in parts: none where none is wanted; or what it waits for; or HangUpError."""
        self.kind, authentication = None, self._authentication
        if authentication.takes_tokens:
            return authentication.token(frame)
        start = _start(frame)
        authentication.ensure_allowed(start)
        api = self._apis.get(start.api_key)
        if api is None or start.api_version not in api.versions:
            return _unserved(start)
        try:
            received = ReceivedRequest.of(frame, start)
        except (MalformedRequestError, UnsupportedRequestError) as error:
            raise HangUpError("request", str(error)) from error
        header = received.header
        is_of_replica = start[0] == fetch.API_KEY and received.request.replica_id >= 0
        self.kind = _build(RequestKind, (start[0], start[1], is_of_replica))
        try:
            answer = api.answer(received.request, Call(header.api_version, authentication.caller, header.client_id))
            if answer is None:
                return []
            return Waiting(answer, received) if _is_pending(answer) else received.answer_parts(answer)
        except HangUpError as error:
            _add_parts(error, received)
            raise
        except Exception as error:
            raise _hang_up(error, received) from error


def _start(frame: memoryview) -> RequestStart:
    try:
        return read_request_start(frame)
    except MalformedRequestError as error:
        raise HangUpError("request", str(error)) from error


def _unserved(start: RequestStart) -> list[Part]:
    if start.api_key == api_versions.API_KEY:
        return unsupported_version(start.correlation_id)
    raise HangUpError(
        "version", f"a request of API {start.api_key} in version {start.api_version} is not answered here"
    )


def _is_pending(answer: Any) -> bool:
    return hasattr(answer, "attend")


def _add_parts(error: HangUpError, received: ReceivedRequest) -> None:
    if error.answer is not None:
        error.parts = received.answer_parts(error.answer)


def _hang_up(error: Exception, received: ReceivedRequest) -> HangUpError:
    """Make everything that goes wrong with a request the end of its connection, and of nothing else."""
    if isinstance(error, MalformedRequestError | UnsupportedRequestError):
        return HangUpError("request", str(error))
    if isinstance(error, ReplicationError):  # foreseen, such as a controller that cannot be asked
        return HangUpError("failure", f"{received.api.name} could not be answered: {error}")
    asked = f"{received.api.name} in version {received.header.api_version}"
    _LOGGER.error("%s of client %.100r could not be answered", asked, received.header.client_id, exc_info=error)
    return HangUpError("failure", f"{asked} could not be answered: {error!r}")
