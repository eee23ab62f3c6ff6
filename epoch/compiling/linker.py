"""Loads object files, by the linker of llvmlite, which numba is built on and which loads in a fifth of its time."""

import ctypes
from functools import cache
from typing import Any, Final

from llvmlite import binding

UNREACHABLE: Final = "epochlog_unreachable"
"""The symbol of what object files name and never call."""
_KEPT: Final[list[Any]] = []
"""Engines, each of which owns the memory of what it has loaded."""


@cache
def host() -> tuple[str, str, str]:
    """Return the processor and its features, as numba chooses them by default."""
    return binding.get_process_triple(), binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()


def link(content: bytes, symbol: str) -> int:
    """Load an object file, for as long as the process runs; return the address of its function.

    Each has an engine of its own: what threads load at once must not meet.
    """
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.add_symbol(UNREACHABLE, ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p).value)
    machine = binding.Target.from_triple(binding.get_process_triple()).create_target_machine()
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
    engine.add_object_file(binding.ObjectFileRef.from_data(content))
    engine.finalize_object()
    _KEPT.append(engine)
    address: int = engine.get_function_address(symbol)
    return address
