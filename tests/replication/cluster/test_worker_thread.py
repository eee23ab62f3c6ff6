import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest

from epoch.base.resource_limits import ResourceLimitError
from replication.base.back_off import BackOff
from replication.base.errors import ReplicationError
from replication.cluster import worker_thread
from replication.cluster.worker_thread import WorkerThread
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.connection import Connection
from replication.wire.errors import ConnectionClosedError
from replication.wire.messages.metadata import MetadataRequest
from tests.replication.wire.fake_broker import SECONDS, FakeBroker, Silence

QUICK = 1


class Worker(WorkerThread):
    """Does what it is given, round by round; then it waits until it is woken."""

    def __init__(self, *rounds: Callable[["Worker"], object]) -> None:
        super().__init__("worker", BackOff(QUICK, QUICK))
        self.rounds = [*rounds]
        self.at_rest, self.woken = threading.Event(), threading.Event()
        self.lost: list[Exception] = []
        self.given_up: list[BaseException] = []

    def _round(self) -> None:
        if self.rounds:
            self.rounds.pop(0)(self)
            return
        self.at_rest.set()
        assert self.woken.wait(SECONDS)

    def _lost(self, error: Exception) -> None:
        self.lost.append(error)
        super()._lost(error)

    def _give_up(self, error: BaseException) -> None:
        self.given_up.append(error)
        super()._give_up(error)

    def _wake(self) -> None:
        self.woken.set()

    def end(self) -> None:
        """Wait for a thread that ends by itself."""
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()


@contextmanager
def working(worker: Worker) -> Iterator[Worker]:
    """Let it work until it has no more rounds."""
    worker.start()
    try:
        assert worker.at_rest.wait(SECONDS)
        yield worker
    finally:
        worker.stop()
        worker.end()


def raising(error: BaseException) -> Callable[[Worker], object]:
    def fail(_: Worker) -> None:
        raise error

    return fail


@pytest.fixture
def silence() -> Silence:
    return Silence()


@pytest.fixture
def connection(silence: Silence) -> Iterator[Connection]:
    """One to a broker that greets, and then answers nothing."""
    with FakeBroker(silence) as broker, closing(Connection.open(broker.address, ClientSettings())) as made:
        yield made
        silence.end()


def test_rounds_follow_each_other_until_it_is_stopped() -> None:
    done: list[int] = []
    with working(Worker(lambda _: done.append(1), lambda _: done.append(2))) as worker:
        assert done == [1, 2]
        assert not worker.stopped
    assert worker.stopped


@pytest.mark.parametrize("error", [OSError("gone"), ReplicationError("refused")])
def test_after_a_passing_failure_comes_the_next_round(error: Exception) -> None:
    with working(Worker(raising(error), raising(error))) as worker:
        assert worker.lost == [error, error]
    assert worker.given_up == []


@pytest.mark.parametrize("error", [ValueError("a fault of ours"), MemoryError(), SystemExit(1)])
def test_whatever_else_is_raised_ends_it_and_is_told_to_the_hook(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[BaseException | None] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: told.append(args.exc_value))
    worker = Worker(raising(error), raising(AssertionError("no more rounds")))
    worker.start()
    worker.end()
    assert (worker.given_up, worker.lost, worker.stopped) == ([error], [], True)
    assert told == [error]


def test_a_subclass_says_what_else_passes() -> None:
    class Patient(Worker):
        PASSING = (*Worker.PASSING, MemoryError)

    with working(Patient(raising(MemoryError()))) as worker:
        assert [type(error) for error in worker.lost] == [MemoryError]


def test_stopping_closes_the_connection_that_a_round_waits_on(connection: Connection, silence: Silence) -> None:
    worker = Worker(lambda each: each._hold(connection).ask(MetadataRequest(topics=())))
    worker.start()
    assert silence.asked.wait(SECONDS)
    worker.stop()
    worker.end()
    assert connection.closed
    assert ["closed on this side" in str(error) for error in worker.lost] == [True]


def test_a_connection_that_comes_after_the_stop_is_closed_at_once(connection: Connection) -> None:
    worker = Worker()
    worker.stop()
    assert worker._hold(connection).closed


def test_a_failure_closes_the_connection_and_the_next_round_holds_none(connection: Connection) -> None:
    held: list[Connection | None] = []

    def use(worker: Worker) -> None:
        worker._hold(connection)
        raise ConnectionClosedError(connection.address, "gone")

    with working(Worker(use, lambda worker: held.append(worker._connection))):
        assert (held, connection.closed) == ([None], True)


def test_a_stop_ends_the_wait_after_a_failure() -> None:
    failed = threading.Event()

    class Slow(Worker):
        def _lost(self, error: Exception) -> None:
            self._back_off = BackOff(3_600_000, 3_600_000)
            failed.set()
            super()._lost(error)

    worker = Slow(raising(OSError("gone")))
    worker.start()
    assert failed.wait(SECONDS)
    worker.stop()
    worker.end()


def test_it_may_stop_itself_and_be_stopped_again() -> None:
    worker = Worker(lambda each: each.stop())
    worker.start()
    worker.end()
    worker.stop()
    assert worker.given_up == []


def test_a_stop_waits_no_longer_than_it_is_told_for_a_round_that_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_thread, "STOP_SECONDS", 2 * SECONDS)
    begun, may_end = threading.Event(), threading.Event()

    def go_on(_: Worker) -> None:
        begun.set()
        assert may_end.wait(SECONDS)

    worker = Worker(go_on)
    worker.start()
    assert begun.wait(SECONDS)
    worker.stop(until=0.0)
    worker.stop(wait=False)
    assert worker._thread.is_alive()
    may_end.set()
    worker.end()


def test_a_process_that_may_have_no_more_threads_is_told_which_limit_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    worker = Worker()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(ResourceLimitError, match="can't start new thread: the limit"):
            worker.start()
    worker.stop()


def test_a_second_start_is_no_limit() -> None:
    with working(Worker()) as worker, pytest.raises(RuntimeError, match="started once"):
        worker.start()
