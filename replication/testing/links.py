"""The connections between the nodes of a cluster for tests, each of which can be cut or slowed down."""

import time
from collections.abc import Iterable
from threading import Condition
from typing import Final

CONTROLLER: Final = -1
"""The controller, among the nodes."""


class Links:
    """Which nodes cannot reach each other, and how slowly others do. Any thread may call it."""

    def __init__(self) -> None:
        """Let all reach all."""
        self._changed: Final = Condition()
        self._cut: frozenset[frozenset[int]] = frozenset()
        self._delays: dict[frozenset[int], float] = {}
        self._paused: frozenset[int] = frozenset()

    def cut(self, one: int, other: int) -> None:
        """Let two nodes not reach each other, by broker ids or CONTROLLER."""
        self._set(self._cut | {frozenset((one, other))}, self._paused)

    def mend(self, one: int, other: int) -> None:
        """Let two nodes reach each other again."""
        self._set(self._cut - {frozenset((one, other))}, self._paused)

    def heal(self, nodes: Iterable[int] | None = None) -> None:
        """Let all nodes reach all others again at once, or only those that are named."""
        named = None if nodes is None else frozenset(nodes)

        def stays(link: frozenset[int]) -> bool:
            return named is not None and not link & named

        with self._changed:
            self._delays = {link: seconds for link, seconds in self._delays.items() if stays(link)}
        self._set(frozenset(filter(stays, self._cut)), self._paused)

    def delay(self, one: int, other: int, seconds: float) -> None:
        """Let what two nodes ask each other arrive so much later."""
        with self._changed:
            self._delays = {**self._delays, frozenset((one, other)): seconds}

    def pause(self, node: int) -> None:
        """Let a node neither answer nor ask, clients included, until it is resumed."""
        self._set(self._cut, self._paused | {node})

    def resume(self, node: int) -> None:
        """Let a node go on."""
        self._set(self._cut, self._paused - {node})

    def is_cut(self, one: int, other: int) -> bool:
        """Whether two nodes cannot reach each other now."""
        return frozenset((one, other)) in self._cut or one in self._paused or other in self._paused

    def pass_on(self, one: int, other: int) -> bool:
        """Wait as long as the link is slow, and return whether what was asked arrives."""
        seconds = self._delays.get(frozenset((one, other)), 0.0)
        if seconds:
            time.sleep(seconds)
        return not self.is_cut(one, other)

    def wait_while_paused(self, node: int) -> None:
        """Return once a node is not paused."""
        if node in self._paused:
            with self._changed:
                self._changed.wait_for(lambda: node not in self._paused)

    def _set(self, cut: frozenset[frozenset[int]], paused: frozenset[int]) -> None:
        with self._changed:
            self._cut, self._paused = cut, paused
            self._changed.notify_all()
