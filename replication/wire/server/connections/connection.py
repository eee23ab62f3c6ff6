"""One connection and its thread."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from threading import Thread
from typing import Final, NoReturn

from epoch.base.resource_limits import ResourceLimitError, no_more_threads
from replication.records.codec.gathered import Part
from replication.wire.addresses import Address
from replication.wire.encoding.framing import FrameReader
from replication.wire.errors import MalformedResponseError
from replication.wire.server.authentication import Authentication
from replication.wire.server.call import ANONYMOUS, Caller
from replication.wire.server.connections.awaited_answer import AwaitedAnswer, give_due_answers, giving_answers
from replication.wire.server.connections.complaints import Complaints
from replication.wire.server.connections.idle_connections import IdleConnections
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.connections.open_connections import OpenConnections
from replication.wire.server.connections.request_memory import RequestMemory
from replication.wire.server.connections.stream import NothingYetError, Stream
from replication.wire.server.conversation import Conversation, Waiting
from replication.wire.server.hang_up import HangUpError
from replication.wire.server.offered_versions import OfferedVersions
from replication.wire.server.request_times import ConnectionTimes, RequestTimes
from replication.wire.server.served_api import ServedApis
from replication.wire.server.server_limits import ServerLimits

_LOGGER: Final = logging.getLogger("epochlog.server")
_LOOK_SECONDS: Final = 10.0
"""While an answer waits for that long, whether anybody still waits for it is looked at."""
_IDLE_BYTES: Final = 16 * 1024
_BUSY_BYTES: Final = 2 << 20
"""Of the room for requests, between two of them: to make it anew for each batch of a megabyte takes as long as that
takes to arrive."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the connections of a server share."""

    apis: ServedApis
    offered: OfferedVersions
    limits: ServerLimits
    memory: RequestMemory
    connections: OpenConnections
    idle: IdleConnections
    complaints: Complaints
    times: RequestTimes


class _NothingComesError(Exception):
    """No request has begun to arrive for a while."""


class Connection:
    """Receives a request, sends its answer, and so on, until one side hangs up.

    It stands still while an answer waits: the next request is received after it, as in Kafka. While nothing comes it
    has no thread.
    """

    def __init__(self, stream: Stream, peer: Address, settings: ListenerSettings, surroundings: Surroundings) -> None:
        """Create a connection from an accepted socket and its peer; see `start`."""
        self.address: Final = peer.host
        self.listener: Final = settings.name
        self._stream: Final = stream
        self._settings: Final = settings
        self._around: Final = surroundings
        self._name: Final = f"epochlog-{settings.name}-{peer}"
        self._awaited: Final = AwaitedAnswer(stream)
        self._times: ConnectionTimes | None = None
        self._frames: Final = FrameReader(surroundings.limits.socket_request_max_bytes)
        self._authentication: Authentication | None = None
        self._conversation: Conversation | None = None
        """None before the stream is open."""
        self._heard_at = time.monotonic()
        self._login_until: Final = inf if settings.sasl is None else self._heard_at + settings.sasl.login_seconds
        self._is_ended = False
        self._held_bytes = 0
        self._thread: Thread | None = None
        self._begun: Callable[[], None] | None = None

    def start(self) -> None:
        """Wait for the first request."""
        if not self._around.idle.park(self):
            self.finish()

    def end(self) -> None:
        """End the connection, whatever it waits for."""
        self._is_ended = True
        self._awaited.interrupt()
        self._stream.end()

    def join(self, seconds: float) -> None:
        """Wait for its thread, if it has one."""
        thread = self._thread
        if thread is not None and thread.ident is not None:
            thread.join(seconds)

    # --- while it has no thread

    @property
    def descriptor(self) -> int:
        """Its socket's."""
        return self._stream.descriptor

    @property
    def idle_until(self) -> float:
        """When it is closed unless something comes, by `time.monotonic()`."""
        if self._conversation is None and self._stream.opening_seconds is not None:
            return self._heard_at + self._stream.opening_seconds
        idle_seconds = self._around.limits.idle_seconds
        idle_until = inf if idle_seconds is None else self._heard_at + idle_seconds
        return idle_until if self._has_logged_in else min(idle_until, self._login_until)

    def is_gone(self) -> bool:
        """Return whether the other side has hung up, and nothing is to be received."""
        return self._stream.is_at_end()

    def wake(self, begun: Callable[[], None]) -> None:
        """Go on in a thread. Raises ResourceLimitError where the process may have no more."""
        self._begun = begun
        self._thread = Thread(target=self._run, name=self._name, daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            raise no_more_threads(error) from error

    def refuse(self, error: ResourceLimitError) -> None:
        """End for want of a thread."""
        self._around.complaints.tell(self.address, "threads", str(error))
        self.finish()

    def expire(self) -> None:
        """End as nothing has come in time."""
        if self._conversation is None and self._stream.opening_seconds is not None:
            reason = f"no TLS handshake within {self._stream.opening_seconds:g} s"
            self._around.complaints.tell(self.address, "tls", reason)
        self.finish()

    def finish(self) -> None:
        """End, and be none of the server's connections any more."""
        self._around.memory.give_back(self._held_bytes)
        if self._times is not None:
            self._around.times.end(self._times)
        with self._around.connections.removing(self):
            self._stream.close()

    # --- the thread

    def _run(self) -> None:
        is_idle = False
        try:
            with giving_answers():
                self._converse()
        except _NothingComesError:
            is_idle = True
        except HangUpError as error:
            self._around.complaints.tell(self.address, error.topic, str(error))
            self._say_goodbye(error)
        except TimeoutError:
            _LOGGER.debug("%s was idle for too long", self._name)
        except OSError as error:
            _LOGGER.debug("%s has ended: %s", self._name, error)
        finally:
            self._say_begun()
            self._around.idle.rested()
            if not (is_idle and self._around.idle.park(self)):
                self.finish()

    def _say_begun(self) -> None:
        """Allow others to be woken: this one has had its turn."""
        begun, self._begun = self._begun, None
        if begun is not None:
            begun()

    def _open(self) -> Conversation:
        subject = self._stream.open()
        principal = ANONYMOUS if subject is None else f"User:{subject}"
        self._authentication = self._settings.authentication(Caller(self.address, principal, self._settings.name))
        self._frames.limit = self._most_bytes
        self._times = self._around.times.begin()
        self._conversation = Conversation(self._around.apis, self._around.offered, self._authentication)
        return self._conversation

    @property
    def _has_logged_in(self) -> bool:
        return self._authentication is not None and self._authentication.most_bytes is None

    @property
    def _most_bytes(self) -> int:
        own = None if self._authentication is None else self._authentication.most_bytes
        return own or self._around.limits.socket_request_max_bytes

    def _converse(self) -> None:
        conversation = self._conversation or self._open()
        times = self._times
        assert times is not None  # noqa: S101 - they are begun as it is opened
        frames, memory = self._frames, self._around.memory
        while (frame := self._next_frame()) is not None:
            received_at = time.perf_counter()
            found = conversation.receive(frame)
            done_at = time.perf_counter()
            has_much_room = frames.holds_more_than(_IDLE_BYTES)
            if not has_much_room:
                # So little is each connection's own: who waits for records, or reads slowly, keeps nobody else out.
                self._give_back(memory)
            has_waited = isinstance(found, Waiting)
            rest = self._offered(found)
            del found  # who waits for the next request, or for a slow reader, holds no view of a log
            offered_at = time.perf_counter()
            give_due_answers()
            if self._begun is not None:
                self._say_begun()
            sending_at = time.perf_counter()
            self._stream.send(rest)
            del rest
            if conversation.kind is not None:
                sending = time.perf_counter() - sending_at
                waiting = offered_at - done_at if has_waited else 0.0
                sending += offered_at - done_at - waiting
                times.note(conversation.kind, done_at - received_at, waiting, sending)
            frames.limit = self._most_bytes
            if has_much_room:
                self._give_back(memory)
                del frame  # else the room would stay until the next one
                if frames.holds_more_than(_BUSY_BYTES):
                    frames.let_go()

    def _give_back(self, memory: RequestMemory) -> None:
        memory.give_back(self._held_bytes)
        self._held_bytes = 0

    def _next_frame(self) -> memoryview | None:
        """Return the next request, or None at the end; what waits for memory has no more than its size.

        Raises _NothingComesError where none begins, TimeoutError where one that has begun does not go on, and
        HangUpError where a login takes too long.
        """
        frames, memory, receive = self._frames, self._around.memory, self._stream.receive
        if self._around.idle.is_crowded and not self._stream.wait(0.0):
            self._rest()
        while True:
            try:
                count = receive(frames.wanted())
            except NothingYetError:
                self._ensure_in_time()
                if frames.is_between:
                    self._rest()
                continue
            if not count:
                return None
            self._heard_at = time.monotonic()
            if not self._has_logged_in:
                self._ensure_in_time()
            try:
                frame = frames.received(count)
            except MalformedResponseError as error:
                raise HangUpError("size", str(error)) from error
            if frame is not None:
                return frame
            if frames.announced and not self._held_bytes:
                memory.take(frames.announced)
                self._held_bytes = frames.announced

    def _rest(self) -> NoReturn:
        if self._frames.holds_more_than(_IDLE_BYTES):
            self._frames.let_go()
        raise _NothingComesError

    def _ensure_in_time(self) -> None:
        now = time.monotonic()
        if now < self.idle_until:
            return
        if not self._has_logged_in and now >= self._login_until:
            raise HangUpError("login", "the login has taken too long")
        raise TimeoutError

    def _offered(self, found: list[Part] | Waiting) -> bytes:
        """Send what can be sent at once, as soon as there is an answer, and return the rest."""
        if not isinstance(found, Waiting):
            return self._stream.offer(found)
        give_due_answers()
        self._say_begun()
        awaited = self._awaited
        with awaited.attending(found):
            while not awaited.look():
                give_due_answers()
                is_woken = awaited.wait(_LOOK_SECONDS)
                if self._is_ended or (not is_woken and self._stream.is_left()):
                    raise ConnectionAbortedError
            return awaited.take_rest()

    def _say_goodbye(self, error: HangUpError) -> None:
        try:
            if error.delay_seconds and not self._is_ended:
                self._awaited.wait(error.delay_seconds)
            self._stream.send(self._stream.offer(error.parts))
        except OSError:  # it did not wait for that
            pass
