"""The connections between the nodes of a cluster for tests, each of which can be cut or slowed down."""

import time
from collections.abc import Callable, Iterable, Mapping
from math import inf
from threading import Condition
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self

CONTROLLER: Final = -1
"""The controller, among the nodes."""

_NO_DELAYS: Final[Mapping[frozenset[int], float]] = MappingProxyType({})


class LinkState(NamedTuple):
    """What all links are like at one time."""

    cut: frozenset[frozenset[int]] = frozenset()
    delays: Mapping[frozenset[int], float] = _NO_DELAYS
    """In seconds."""
    paused: frozenset[int] = frozenset()
    """Nodes."""

    def as_json(self) -> dict[str, Any]:
        """Return it for another process."""
        delays = [[*sorted(link), seconds] for link, seconds in self.delays.items()]
        return {"cut": [sorted(link) for link in self.cut], "delays": delays, "paused": sorted(self.paused)}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Self:
        """Decode it from another process."""
        delays = {frozenset(link): seconds for *link, seconds in told["delays"]}
        return cls(frozenset(map(frozenset, told["cut"])), delays, frozenset(told["paused"]))


class Links:
    """Which nodes cannot reach each other, and how slowly others do. Any thread may call it."""

    def __init__(self, nodes: Iterable[int] | None = None) -> None:
        """Create links between all nodes. With `nodes`, naming any other raises ValueError."""
        self._nodes: Final = None if nodes is None else frozenset(nodes)
        self._changed: Final = Condition()
        self._state: LinkState = LinkState()
        self._watchers: Final[list[Callable[[LinkState], None]]] = []
        self._is_closed: bool = False

    @property
    def state(self) -> LinkState:
        """What they are like now."""
        return self._state

    def watch(self, watcher: Callable[[LinkState], None]) -> None:
        """Call the watcher with each change, before the call that makes it returns."""
        self._watchers.append(watcher)

    def take(self, state: LinkState) -> None:
        """Replace the state of all links."""
        self._change(lambda _: state)

    def close(self) -> None:
        """End with the cluster: what would cut or slow a link, or pause a node, raises ValueError from then on."""
        self._is_closed = True

    def cut(self, one: int, other: int) -> None:
        """Cut the link between two nodes, by broker ids or CONTROLLER; `pause` cuts clients off."""
        self._ensure_open()
        self._ensure_link(one, other)
        self._change(lambda state: state._replace(cut=state.cut | {frozenset((one, other))}))

    def mend(self, one: int, other: int) -> None:
        """Restore the link between two nodes."""
        self._ensure_link(one, other)
        self._change(lambda state: state._replace(cut=state.cut - {frozenset((one, other))}))

    def heal(self, nodes: Iterable[int] | None = None) -> None:
        """Restore all links at once, and end their delays, or only those of the nodes that are named."""
        named = None if nodes is None else frozenset(nodes)
        self._ensure_nodes(*named or ())

        def stays(link: frozenset[int]) -> bool:
            return named is not None and not link & named

        def healed(state: LinkState) -> LinkState:
            delays = {link: seconds for link, seconds in state.delays.items() if stays(link)}
            return state._replace(cut=frozenset(filter(stays, state.cut)), delays=delays)

        self._change(healed)

    def delay(self, one: int, other: int, seconds: float) -> None:
        """Delay what two nodes send each other by this many seconds; 0: no longer."""
        self._ensure_open()
        self._ensure_link(one, other)
        if not 0 <= seconds < inf:
            raise ValueError(f"a link cannot be late by {seconds} seconds")
        self._change(lambda state: state._replace(delays={**state.delays, frozenset((one, other)): seconds}))

    def pause(self, node: int) -> None:
        """Pause a node: it neither answers nor asks, clients included, until it is resumed."""
        self._ensure_open()
        self._ensure_nodes(node)
        self._change(lambda state: state._replace(paused=state.paused | {node}))

    def resume(self, node: int) -> None:
        """Resume a node."""
        self._ensure_nodes(node)
        self._change(lambda state: state._replace(paused=state.paused - {node}))

    def is_cut(self, one: int, other: int) -> bool:
        """Whether two nodes cannot reach each other now."""
        state = self._state
        return frozenset((one, other)) in state.cut or one in state.paused or other in state.paused

    def pass_on(self, one: int, other: int) -> bool:
        """Wait as long as the link is slow, and return whether what was asked arrives."""
        seconds = self._state.delays.get(frozenset((one, other)), 0.0)
        if seconds:
            time.sleep(seconds)
        return not self.is_cut(one, other)

    def wait_while_paused(self, node: int) -> None:
        """Return once a node is not paused."""
        if node in self._state.paused:
            with self._changed:
                self._changed.wait_for(lambda: node not in self._state.paused)

    def _ensure_open(self) -> None:
        if self._is_closed:
            raise ValueError(
                "the cluster is closed, so its links lead nowhere: change them while it runs, in its `with`"
            )

    def _ensure_link(self, one: int, other: int) -> None:
        self._ensure_nodes(one, other)
        if one == other:
            raise ValueError(f"node {one} has no link to itself")

    def _ensure_nodes(self, *named: int) -> None:
        strange = [] if self._nodes is None else sorted(set(named) - self._nodes)
        if strange:
            raise ValueError(
                f"{', '.join(map(str, strange))}: no node that has links; these have: "
                f"{', '.join(map(str, sorted((self._nodes or frozenset()) - {CONTROLLER})))} and CONTROLLER"
            )

    def _change(self, change: Callable[[LinkState], LinkState]) -> None:
        with self._changed:
            self._state = change(self._state)
            self._changed.notify_all()
        for watcher in self._watchers:
            watcher(self._state)
