"""Gets kernels ready beside the work: a thread loads them, and a process of its own compiles what is not kept yet.

To compile holds the GIL for tens of milliseconds at a time, and takes ten seconds; to load numba and what is kept takes
half a second, of which Python gives others their turn every few milliseconds.
"""

import atexit
import os
import sys
import warnings
from collections import deque
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Final, NamedTuple, Protocol

_PROGRAM: Final = (
    "import json, os, sys; os.nice(19); sys.path[:] = json.loads(sys.argv[1]); "
    "from importlib import import_module; import_module(sys.argv[2]).warm()"
)
"""Calls a package's `warm`, which makes all its kernels, at the lowest priority, with what this process imports."""


_BEFOREHAND: Final = ("logging", "concurrent.futures.thread", "subprocess")
"""Imported before the thread starts, not within it: a forked process may want what is half imported then. The first
two, which numba imports, take part in forks themselves, and must not come while one waits, between its two halves."""
_LONGEST_WAIT: Final = 10
"""Seconds, should a lock that this process's own part in a fork holds be what loading waits for."""
_LOCKS: Final[list[int]] = []
"""Descriptors of locked files, for the moment until another process has them."""


class KernelsNotCompiledWarning(RuntimeWarning):
    """Kernels could not be compiled in the background: plain Python goes on doing their work."""


class Wanted(Protocol):
    """A kernel that can be loaded."""

    package: str

    def get(self) -> Any:
        """Load it."""


class _Order(NamedTuple):
    kernel: Wanted
    may_compile: bool


class KernelMaker:
    """Loads kernels in the order in which they are wanted, in a thread that ends when none is."""

    def __init__(self) -> None:
        self._attends_forks = False
        self._has_waited = False
        self._begin(is_forked=False)
        os.register_at_fork(after_in_child=lambda: self._begin(is_forked=True))

    def _begin(self, *, is_forked: bool) -> None:
        while is_forked and _LOCKS:
            os.close(_LOCKS.pop())  # a copy would keep others waiting when this process's is closed
        self._is_forked = is_forked
        self._is_ending = False
        self._orders: deque[_Order] = deque()
        self._guard = Lock()
        self._thread: Thread | None = None
        self._loading = Lock()
        """Held while modules are half imported: no process is forked, and this one does not end, in between."""

    def want(self, kernel: Wanted, *, may_compile: bool) -> None:
        """Request that a kernel is loaded, and compiled in another process where that is allowed and needed.

        Returns at once. A caller that finds that nothing came of it may ask again.
        """
        is_off = self._is_ending or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"
        if is_off or not self._guard.acquire(blocking=False):
            return
        try:
            self._orders.append(_Order(kernel, may_compile and not self._is_forked and _may_have_children()))
            if self._thread is not None:
                return
            with suppress(OSError, ImportError, RuntimeError, MemoryError):  # no more descriptors, or threads
                self._attend_forks()
                thread = Thread(target=self._work, name="epochlog-kernels", daemon=True)
                thread.start()
                self._thread = thread
        finally:
            self._guard.release()

    def _work(self) -> None:
        while order := self._next():
            try:
                if is_kept(order.kernel.package) or (order.may_compile and compile_all(order.kernel.package)):
                    with self._loading:
                        if not self._is_ending:
                            order.kernel.get()
                else:
                    self._orders.clear()  # not one try for each: they are asked for again
            except Exception as error:  # noqa: BLE001  the work goes on without, whatever it is
                _warn(f"{type(error).__name__}: {error}")

    def _next(self) -> _Order | None:
        with self._guard:
            if self._orders:
                return self._orders.popleft()
            self._thread = None
            return None

    def _attend_forks(self) -> None:
        """Make forks, and the end of the process, wait while something is half loaded."""
        if self._attends_forks:
            return
        for name in _BEFOREHAND:
            import_module(name)
        self._attends_forks = True
        # What comes last is asked first: whoever waits here must not hold those modules' locks yet.
        os.register_at_fork(before=self._wait, after_in_parent=self._go_on)
        atexit.register(self._end)

    def _end(self) -> None:
        """Load nothing more, and let what is half loaded come to its end: forks in later handlers need not wait."""
        self._is_ending = True
        self._wait()
        self._go_on()

    def _wait(self) -> None:
        self._has_waited = self._loading.acquire(timeout=_LONGEST_WAIT)

    def _go_on(self) -> None:
        if self._has_waited:
            self._loading.release()


def is_kept(package: str) -> bool:
    """Whether all kernels of a package are on disk, or came with it."""
    from epoch.compiling.completion import Completion  # noqa: PLC0415  it costs the thread, not who wants a kernel
    from epoch.compiling.shipped_code import shipped  # noqa: PLC0415  as above

    return bool(shipped()) or Completion(package).is_noted()


def compile_all(package: str) -> bool:
    """Compile all in a process, unless another one does already; wait for either, and return whether all are kept."""
    import json  # noqa: PLC0415  as above
    import subprocess  # noqa: PLC0415  as above

    from epoch.compiling.completion import Completion  # noqa: PLC0415  as above

    if find_spec("numba") is None:
        return False
    completion = Completion(package)
    try:
        lock = completion.lock()
    except OSError as error:
        _warn(f"nothing can be kept: {error}; set NUMBA_CACHE_DIR to a directory that you can write, and nobody else")
        return False
    _LOCKS.append(lock)
    try:
        if completion.is_noted():
            return True
        process = subprocess.Popen(  # noqa: S603  this Python, and a program of ours
            [sys.executable, "-P", "-c", _PROGRAM, json.dumps(sys.path), package],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(lock,),  # it is locked as long as that process lives, should this one end before
            start_new_session=True,
            env={**os.environ, "EPOCHLOG_COMPILE": "never"},
        )
    finally:
        _LOCKS.remove(lock)
        os.close(lock)
    status = process.wait()
    if completion.is_noted():
        return True
    _warn(f"the process that compiles them ended with status {status}")
    return False


def _may_have_children() -> bool:
    """Whether this is a Python that can be started again, and no process of a pool that is to have no children."""
    if getattr(sys, "frozen", False) or not Path(sys.executable or "").name.startswith("python"):
        return False
    multiprocessing: Any = sys.modules.get("multiprocessing.process")
    return multiprocessing is None or not multiprocessing.current_process().daemon


def _warn(reason: str) -> None:
    warnings.warn(
        f"kernels could not be compiled in the background, so plain Python continues to do their work: {reason}; "
        'to see more, run python -c "import logstore; logstore.warm()"',
        KernelsNotCompiledWarning,
        stacklevel=2,
    )


MAKER: Final = KernelMaker()
