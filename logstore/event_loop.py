"""The event loop that runs the present task: asyncio's, or trio's."""

import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

    import trio


class Signal(Protocol):
    """What tasks await until it is set, in the loop's thread."""

    def set(self) -> None:
        """Wake those who wait."""

    def __await__(self) -> Generator[Any, None, None]: ...


class EventLoop(Protocol):
    """What waiting for a log needs of a loop; two are equal if they are one."""

    def signal(self) -> Signal:
        """Create one that is not set."""

    def call_soon(self, function: Callable[[], object]) -> None:
        """Call something in the loop, from any thread. Does nothing once the loop has ended."""

    async def sleep(self, seconds: float) -> None:
        """Return after so many seconds; other tasks run meanwhile, at least once."""

    async def in_time(self, awaitable: Awaitable[None], seconds: float | None) -> bool:
        """Await it for so many seconds at most; return whether that was enough."""

    async def in_thread(self, function: Callable[[], object]) -> None:
        """Return once a thread has called it."""


def running_loop() -> EventLoop:
    """Return the loop of the present task. Raises RuntimeError where none runs."""
    if (trio := sys.modules.get("trio")) is not None:  # nobody runs it who has not imported it
        with suppress(RuntimeError):
            return TrioLoop(trio.lowlevel.current_trio_token())
    if (asyncio := sys.modules.get("asyncio")) is None:  # as above; to load it takes long
        raise RuntimeError("no running event loop")
    loop: AbstractEventLoop = asyncio.get_running_loop()
    return AsyncioLoop(loop)


class AsyncioLoop(NamedTuple):
    """One of asyncio's."""

    loop: "AbstractEventLoop"

    def signal(self) -> Signal:
        """Do as `EventLoop` says."""
        return _AsyncioSignal(self.loop.create_future())

    def call_soon(self, function: Callable[[], object]) -> None:
        """Do as `EventLoop` says."""
        with suppress(RuntimeError):  # the loop is closed, and its tasks are gone with it
            self.loop.call_soon_threadsafe(function)

    async def sleep(self, seconds: float) -> None:
        """Do as `EventLoop` says."""
        from asyncio import sleep  # noqa: PLC0415  as above

        await sleep(seconds)

    async def in_time(self, awaitable: Awaitable[None], seconds: float | None) -> bool:
        """Do as `EventLoop` says."""
        from asyncio import wait_for  # noqa: PLC0415  as above

        try:
            await wait_for(awaitable, seconds)
        except TimeoutError:
            return False
        return True

    async def in_thread(self, function: Callable[[], object]) -> None:
        """Do as `EventLoop` says."""
        await self.loop.run_in_executor(None, function)


class _AsyncioSignal:
    __slots__ = ("_future",)

    def __init__(self, future: "Future[None]") -> None:
        self._future = future

    def set(self) -> None:
        if not self._future.done():
            self._future.set_result(None)

    def __await__(self) -> Generator[Any, None, None]:
        return self._future.__await__()


class TrioLoop(NamedTuple):
    """The one that trio runs in this thread."""

    token: "trio.lowlevel.TrioToken"

    def signal(self) -> Signal:
        """Do as `EventLoop` says."""
        import trio  # noqa: PLC0415  only where it runs

        return _TrioSignal(trio.Event())

    def call_soon(self, function: Callable[[], object]) -> None:
        """Do as `EventLoop` says."""
        import trio  # noqa: PLC0415  as above

        with suppress(trio.RunFinishedError):
            self.token.run_sync_soon(function)

    async def sleep(self, seconds: float) -> None:
        """Do as `EventLoop` says."""
        import trio  # noqa: PLC0415  as above

        await trio.sleep(seconds)

    async def in_time(self, awaitable: Awaitable[None], seconds: float | None) -> bool:
        """Do as `EventLoop` says."""
        import trio  # noqa: PLC0415  as above

        with trio.move_on_after(float("inf") if seconds is None else max(0.0, seconds)) as scope:
            await awaitable
        return not scope.cancelled_caught

    async def in_thread(self, function: Callable[[], object]) -> None:
        """Do as `EventLoop` says."""
        import trio  # noqa: PLC0415  as above

        await trio.to_thread.run_sync(function)


class _TrioSignal:
    __slots__ = ("_event",)

    def __init__(self, event: "trio.Event") -> None:
        self._event = event

    def set(self) -> None:
        self._event.set()

    def __await__(self) -> Generator[Any, None, None]:
        return self._event.wait().__await__()
