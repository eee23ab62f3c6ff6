"""Kafka's own classes, in a JVM that is told by lines what to do: it measures by itself."""

from typing import Final

import pytest

from bench.peer.turns import Clock, Timed
from tests.oracle.kafka import JavaProgram, classpath
from tests.oracle.release import BENCHMARKED

HEAP_BYTES: Final = 2 << 30


def without_kafka() -> str:
    """Return why Kafka's classes cannot be had; nothing where they can."""
    try:
        classpath(BENCHMARKED)
    except pytest.skip.Exception as missing:
        return str(missing)
    return ""


class KafkaTimer:
    """A program of `bench/peer/kafka`, started when it is first asked."""

    def __init__(self, main: str, clock: Clock, *, measured: bool = True) -> None:
        """`measured` runs it with the collector and the compiler that a broker has; otherwise it starts sooner."""
        self._main = main
        self._clock = clock
        self._measured = measured
        self._program: JavaProgram | None = None

    def ask(self, *words: object, operations: float = 1) -> Timed:
        """Give a command that does so many operations. Raises RuntimeError with what went wrong there."""
        [answer] = self._started().ask(" ".join(map(str, words)))
        try:
            nanoseconds, found = map(int, answer.split())
        except ValueError:
            raise RuntimeError(f"{self._main} cannot do {words}: {answer}") from None
        return Timed(nanoseconds / operations, found)

    def close(self) -> None:
        """End the program."""
        if self._program is not None:
            self._program.close()
            self._program = None

    def _started(self) -> JavaProgram:
        if self._program is None:
            self._program = JavaProgram(BENCHMARKED, self._main, heap=str(HEAP_BYTES), measured=self._measured)
            self._program.ask(f"clock {self._clock}")
        return self._program
