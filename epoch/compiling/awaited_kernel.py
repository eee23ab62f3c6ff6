"""Kernels that nobody waits for: until the machine code is there, whoever asks for it does the work in plain Python.

    RECOVER = AwaitedKernel(load_recover)

    recover = RECOVER.ready() or plain_recover

`EPOCHLOG_COMPILE` says how kernels come: `background` (a thread loads them, a process compiles what is not kept),
`never` (a thread loads what is kept), or `now` (the first call does it all, and whoever calls waits).
"""

import os
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from epoch.compiling.kernel_maker import MAKER

PATIENCE: Final = 100
"""After so many pieces of work in plain Python a kernel is asked for: a short program does without numba."""
VARIABLE: Final = "EPOCHLOG_COMPILE"

Run = Callable[..., Any]


class AwaitedKernel:
    """A kernel that is there at some time, or never."""

    __slots__ = ("_load", "_patience", "_waited", "code", "package")

    def __init__(self, load: Callable[[], Any], *, patience: int = PATIENCE) -> None:
        """`load` imports what the kernel needs and returns it, ready; `patience` is how much work is done without."""
        self._load = load
        self._patience = patience
        self._waited = 0
        self.code: Any = None
        """The kernel, None until it is there."""
        self.package: str = load.__module__.partition(".")[0]
        """The top-level package whose kernels are made together."""

    def ready(self, work: int = 1) -> Any:
        """Return the kernel if it is there; None, asked for in the background once it is worth it, if it is not.

        `work` is how much the caller is about to do, in the units of `patience`.
        """
        return self.code or self._ask(work)

    def get(self) -> Any:
        """Return the kernel, loaded or compiled in this call."""
        if self.code is None:
            self.code = self._load()
        return self.code

    def _ask(self, work: int) -> Any:
        how = os.environ.get(VARIABLE)
        if how == "now":
            try:
                return self.get() if _is_compiled() else None
            except ImportError:  # in a signal handler, while it is just being loaded
                return None
        self._waited += work
        if self._waited >= self._patience and _is_compiled():
            self._waited, self._patience = 0, 2 * self._patience  # where it cannot be made, ask ever less often
            MAKER.want(self, may_compile=how != "never")
        return None


@cache
def _is_compiled() -> bool:
    """Whether there is machine code, or what makes it. Whether it is of these sources takes longer to see.

    As plain Python a kernel is slower than what its caller does without.
    """
    return Path(__file__).with_name("machine_code").exists() or find_spec("numba") is not None
