"""The commands for one broker: in order, one at a time, again until it answers (Kafka: ControllerChannelManager).

It sends nothing itself. A thread around it, with times in milliseconds of a clock that never goes back,

    command = queue.take(now)        # None: nothing to send, or not before queue.retry_at
    ...                              # send it
    queue.answered()                 # or queue.failed(now)
"""

from collections import deque
from typing import Final

from replication.cluster.controller.classic.commands.commands import Command

RETRY_MS: Final = 100


class BrokerQueue:
    """One broker's; dropped with all that is in it when the broker is gone."""

    def __init__(self) -> None:
        self.retry_at = 0
        """Before this time nothing is sent."""
        self._commands: deque[Command] = deque()
        self._in_flight = False

    def add(self, command: Command) -> None:
        """Put a command behind all others."""
        self._commands.append(command)

    def take(self, now: int) -> Command | None:
        """Return what is to be sent now; None while an answer is awaited, before a retry, or with nothing to say."""
        if self._in_flight or not self._commands or now < self.retry_at:
            return None
        self._in_flight = True
        return self._commands[0]

    def answered(self) -> Command | None:
        """Note that the broker answered; return the command, or None where nothing is in flight."""
        if not self._in_flight:
            return None
        self._in_flight = False
        return self._commands.popleft()

    def failed(self, now: int) -> None:
        """Note that no answer came: the same command is sent again, before all others."""
        self._in_flight = False
        self.retry_at = now + RETRY_MS

    def __len__(self) -> int:
        return len(self._commands)
