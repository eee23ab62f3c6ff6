"""One connection and its thread."""

import logging
import time
from dataclasses import dataclass
from threading import Thread
from typing import Final

from epoch.resource_limits import no_more_threads
from replication.codec.gathered import Part
from replication.protocol.addresses import Address
from replication.protocol.errors import MalformedResponseError
from replication.protocol.wire.framing import FrameReader
from replication.server.call import ANONYMOUS, Caller
from replication.server.connections.awaited_answer import AwaitedAnswer, give_due_answers, giving_answers
from replication.server.connections.complaints import Complaints
from replication.server.connections.listener_settings import ListenerSettings
from replication.server.connections.open_connections import OpenConnections
from replication.server.connections.request_memory import RequestMemory
from replication.server.connections.stream import Stream
from replication.server.conversation import Conversation, Waiting
from replication.server.hang_up import HangUpError
from replication.server.offered_versions import OfferedVersions
from replication.server.request_times import ConnectionTimes, RequestTimes
from replication.server.served_api import ServedApis
from replication.server.server_limits import ServerLimits

_LOGGER: Final = logging.getLogger("epochlog.server")
_LOOK_SECONDS: Final = 10.0
"""While an answer waits for that long, whether anybody still waits for it is looked at."""
_IDLE_BYTES: Final = 16 * 1024
_BUSY_BYTES: Final = 2 << 20
"""Of the room for requests, between two of them: to make it anew for each batch of a megabyte takes as long as that
takes to arrive."""
_BUSY_SECONDS: Final = 1.0
"""Who has sent nothing for that long is idle."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the connections of a server share."""

    apis: ServedApis
    offered: OfferedVersions
    limits: ServerLimits
    memory: RequestMemory
    connections: OpenConnections
    complaints: Complaints
    times: RequestTimes


class Connection:
    """Receives a request, sends its answer, and so on, until one side hangs up.

    It stands still while an answer waits: the next request is received after it, as in Kafka.
    """

    def __init__(self, stream: Stream, peer: Address, settings: ListenerSettings) -> None:
        """Take what was accepted, and from whom; see `start`."""
        self.address: Final = peer.host
        self.listener: Final = settings.name
        self._stream: Final = stream
        self._settings: Final = settings
        self._name: Final = f"epochlog-{settings.name}-{peer}"
        self._awaited: Final = AwaitedAnswer(stream)
        self._is_ended = False
        self._held_bytes = 0
        self._thread: Thread | None = None

    def start(self, surroundings: Surroundings) -> None:
        """Begin its thread. Raises ResourceLimitError where the process may have no more."""
        self._thread = Thread(target=self._run, args=(surroundings,), name=self._name, daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            raise no_more_threads(error) from error

    def end(self) -> None:
        """Let its thread come to its end, whatever it waits for."""
        self._is_ended = True
        self._awaited.interrupt()
        self._stream.end()

    def join(self, seconds: float) -> None:
        """Wait for that."""
        if self._thread is not None and self._thread.ident is not None:
            self._thread.join(seconds)

    # --- the thread

    def _run(self, surroundings: Surroundings) -> None:
        times = surroundings.times.begin()
        try:
            with giving_answers():
                self._converse(surroundings, times)
        except HangUpError as error:
            surroundings.complaints.tell(self.address, error.topic, str(error))
            self._say_goodbye(error)
        except TimeoutError:
            _LOGGER.debug("%s was idle for too long", self._name)
        except OSError as error:
            _LOGGER.debug("%s has ended: %s", self._name, error)
        finally:
            surroundings.memory.give_back(self._held_bytes)
            surroundings.connections.remove(self)
            surroundings.times.end(times)
            self._stream.close()

    def _converse(self, surroundings: Surroundings, times: ConnectionTimes) -> None:
        subject = self._stream.open()
        principal = ANONYMOUS if subject is None else f"User:{subject}"
        caller = Caller(self.address, principal, self._settings.name)
        authentication = self._settings.authentication(caller)
        conversation = Conversation(surroundings.apis, surroundings.offered, authentication)
        most_bytes = surroundings.limits.socket_request_max_bytes
        frames = FrameReader(authentication.most_bytes or most_bytes)
        while (frame := self._next_frame(frames, surroundings.memory)) is not None:
            received_at = time.perf_counter()
            found = conversation.receive(frame)
            done_at = time.perf_counter()
            has_much_room = frames.holds_more_than(_IDLE_BYTES)
            if not has_much_room:
                # So little is each connection's own: who waits for records, or reads slowly, keeps nobody else out.
                self._give_back(surroundings.memory)
            has_waited = isinstance(found, Waiting)
            rest = self._offered(found)
            del found  # who waits for the next request, or for a slow reader, holds no view of a log
            offered_at = time.perf_counter()
            give_due_answers()
            sending_at = time.perf_counter()
            self._stream.send(rest)
            del rest
            if conversation.kind is not None:
                sending = time.perf_counter() - sending_at
                waiting = offered_at - done_at if has_waited else 0.0
                sending += offered_at - done_at - waiting
                times.note(conversation.kind, done_at - received_at, waiting, sending)
            frames.limit = authentication.most_bytes or most_bytes
            if has_much_room:
                self._give_back(surroundings.memory)
                del frame  # else the room would stay until the next one
                self._make_room_small(frames)

    def _give_back(self, memory: RequestMemory) -> None:
        memory.give_back(self._held_bytes)
        self._held_bytes = 0

    def _make_room_small(self, frames: FrameReader) -> None:
        """Let go of much room for requests, unless another one comes soon."""
        if frames.holds_more_than(_BUSY_BYTES) or not self._stream.wait(_BUSY_SECONDS):
            frames.let_go()

    def _next_frame(self, frames: FrameReader, memory: RequestMemory) -> memoryview | None:
        """Return the next request, or None at the end; what waits for memory has no more than its size."""
        receive = self._stream.receive
        while count := receive(frames.wanted()):
            try:
                frame = frames.received(count)
            except MalformedResponseError as error:
                raise HangUpError("size", str(error)) from error
            if frame is not None:
                return frame
            if frames.announced and not self._held_bytes:
                memory.take(frames.announced)
                self._held_bytes = frames.announced
        return None

    def _offered(self, found: list[Part] | Waiting) -> bytes:
        """Send what can be sent at once, as soon as there is an answer, and return the rest."""
        if not isinstance(found, Waiting):
            return self._stream.offer(found)
        give_due_answers()
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
