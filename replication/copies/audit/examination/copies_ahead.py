"""Remote copies that are fetched while another one is examined: small ones, where each request's latency counts."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from types import TracebackType
from typing import Final, Generic, NamedTuple, Self, TypeVar

from replication.copies.audit.snapshots.work import Copy

AHEAD: Final = 4
"""Copies that are fetched meanwhile, at most."""
AHEAD_BYTES: Final = 64 << 20
"""Of those together: what lies on the disk beside the copy that is examined."""
Fetched = TypeVar("Fetched")


class _Begun(NamedTuple, Generic[Fetched]):
    copy: Copy
    size: int
    future: "Future[Fetched]"
    entered: ExitStack


class CopiesAhead(Generic[Fetched]):
    """Enters the contexts of copies in their order, some before they are asked for."""

    def __init__(self, copies: Iterable[Copy], enter: Callable[[Copy], AbstractContextManager[Fetched]]) -> None:
        """Begin with none; those copies alone are fetched ahead whose files were listed."""
        self._waiting = deque(copy for copy in copies if copy.files)
        self._enter = enter
        self._begun: deque[_Begun[Fetched]] = deque()
        self._pool = ThreadPoolExecutor(AHEAD, "copies ahead")

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave what was entered and not asked for."""
        for begun in self._begun:
            begun.future.cancel()
        self._pool.shutdown()
        for begun in self._begun:
            begun.entered.close()

    @contextmanager
    def entered(self, copy: Copy) -> Iterator[Fetched]:
        """Enter the context of a copy, which may have begun before. Raises what that raises."""
        begun = self._taken(copy)
        self._begin()
        if begun is None:
            with self._enter(copy) as fetched:
                yield fetched
            return
        with begun.entered:
            yield begun.future.result()

    def _taken(self, copy: Copy) -> "_Begun[Fetched] | None":
        """Return what was begun of a copy, and begin nothing of it later."""
        with suppress(ValueError):
            self._waiting.remove(copy)
        found = next((begun for begun in self._begun if begun.copy is copy), None)
        if found is not None:
            self._begun.remove(found)
        return found

    def _begin(self) -> None:
        """Begin those that follow, as long as they are small."""
        while self._waiting and len(self._begun) < AHEAD:
            copy = self._waiting[0]
            size = sum((copy.files or {}).values())
            if size + sum(begun.size for begun in self._begun) > AHEAD_BYTES:
                return
            self._waiting.popleft()
            entered = ExitStack()
            future = self._pool.submit(entered.enter_context, self._enter(copy))
            self._begun.append(_Begun(copy, size, future, entered))
