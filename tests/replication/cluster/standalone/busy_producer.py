"""A producer that writes on, whatever happens to its broker."""

import time
from collections.abc import Callable
from threading import Event, Thread

import confluent_kafka as ck

from tests.replication.cluster.serving.clients import SECONDS


class BusyProducer:
    """Writes numbers to partition 0 of a topic, one after another and each once, until it is told to stop."""

    def __init__(self, bootstrap: str, topic: str, *, wait_seconds: float = SECONDS) -> None:
        """Start. A record that is not acknowledged in time is an error."""
        self.acknowledged: list[tuple[int, int]] = []
        """Offsets and numbers, in the order in which they were acknowledged."""
        self.errors: list[ck.KafkaError] = []
        self.count = 0
        """How many it has been given to write."""
        self._topic = topic
        self._producer = ck.Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 1,
                "batch.num.messages": 10,
                "reconnect.backoff.max.ms": 500,
                "message.timeout.ms": int(wait_seconds * 1_000),
                "log_level": 0,
            }
        )
        self._told_to_stop = Event()
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def wait_for(self, more: int) -> None:
        """Wait until so many more are acknowledged."""
        wanted = len(self.acknowledged) + more
        self._wait(lambda: len(self.acknowledged) >= wanted)

    def wait_for_error(self) -> None:
        """Wait until a record could not be written."""
        self._wait(lambda: bool(self.errors))

    def stop(self) -> None:
        """Begin nothing more, and wait for what has been begun."""
        self._told_to_stop.set()
        self._thread.join(2 * SECONDS)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        while not self._told_to_stop.wait(0.001):
            self._producer.produce(self._topic, b"%d" % self.count, partition=0, on_delivery=self._note)
            self.count += 1
            self._producer.poll(0)
        self._producer.flush(SECONDS)

    def _note(self, error: ck.KafkaError | None, message: ck.Message) -> None:
        if error is None:
            self.acknowledged.append((message.offset() or 0, int(message.value() or b"")))
        else:
            self.errors.append(error)

    def _wait(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not is_so():
            assert time.monotonic() < deadline, f"{len(self.acknowledged)} are acknowledged; {self.errors[:3]}"
            time.sleep(0.01)
