"""Compile every kernel now rather than in the background. The machine code stays on disk for later processes."""

import time
from collections.abc import Callable

from epoch.compiling.completion import Completion
from epoch.compiling.kernel_files import could_keep_all, used_directories


def warm() -> list[tuple[str, float]]:
    """Compile all kernels, or load those compiled before: each one's name and seconds, in order.

    What is compiled is kept on disk for later processes, such as those of a container whose image is built with it.
    Where nothing can be kept (NoKernelCacheWarning) it serves this process alone. Without this call kernels come in the
    background, and plain Python does their work until then. Raises ModuleNotFoundError without numba (the extra
    `compile`), without which plain Python goes on doing it.

    >>> timings = warm()
    """
    from epoch.compiling.kernel import HAS_CODE  # noqa: PLC0415  it loads numba

    if not HAS_CODE:
        raise ModuleNotFoundError("to compile kernels takes numba: install the extra `compile`", name="numba")
    from logstore.warming.first_calls import first_calls  # noqa: PLC0415  it loads numba

    timings = [(name, seconds(call)) for name, call in first_calls()]
    completion = Completion("logstore")
    if used_directories() and could_keep_all() and not completion.is_noted():
        completion.note()
    return timings


def seconds(call: Callable[[], object]) -> float:
    """Measure one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
