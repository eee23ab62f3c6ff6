"""Machine code that came with the installation: checked, loaded and called without numba.

Beside this file lies a shared object for each level of processors, and a manifest (`shared_object` makes them). The
first whose processor features are all here is loaded, if it has the checksum of the manifest, and was made of the
sources that are installed.
"""

import ctypes
import hashlib
import json
import os
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

from epoch.compiling.fingerprint import fingerprint_of_directories

DIRECTORY: Final = Path(__file__).with_name("machine_code")
MANIFEST: Final = "manifest.json"
TABLE: Final = "epochlog_kernels"
"""The symbol of the kernels' table."""
_CPUINFO: Final = Path("/proc/cpuinfo")
_INSTALLED: Final = Path(__file__).parents[2]

Code = Callable[..., Any]


class MachineCodeNotLoadedWarning(RuntimeWarning):
    """The machine code that came with this installation cannot be used: numba, or plain Python, stands in for it."""


class _Method(ctypes.Structure):
    """Python's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("code", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@cache
def shipped() -> dict[str, list[Code]]:
    """Return the kernels by their modules' names and their own, for each kind of arguments; empty where there are none.

    A function takes what its `__doc__` says (see `takes`), and raises TypeError where it is given something else.
    """
    if not (DIRECTORY / MANIFEST).exists() or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return {}
    try:
        file = _checked_file()
        return {} if file is None else _functions(ctypes.CDLL(str(file)))
    except (OSError, ValueError) as error:
        warnings.warn(
            f"the machine code in {DIRECTORY} is not loaded: {error}; numba compiles the kernels instead, or they "
            "run as plain Python; install epochlog again",
            MachineCodeNotLoadedWarning,
            stacklevel=2,
        )
        return {}


def takes(code: Code, arguments: tuple[Any, ...]) -> bool:
    """Whether arrays and numbers are of the kinds that a shipped function takes."""
    kinds = (code.__doc__ or "").split()
    return len(kinds) == len(arguments) and all(map(_fits, kinds, arguments))


def _fits(kind: str, argument: Any) -> bool:
    """Compare an argument with `8:lq` for an array of eight bytes each, by the letters of buffers; else a number."""
    size, _, letters = kind.partition(":")
    if not letters:
        return isinstance(argument, int)
    view = memoryview(argument)
    return view.itemsize == int(size) and view.format in letters


def _checked_file() -> Path | None:
    """Return the file for this processor; None where none is for it. Raises ValueError, and OSError."""
    manifest = json.loads((DIRECTORY / MANIFEST).read_text())
    features = processor_features()
    fitting = [each for each in manifest["files"] if features.issuperset(each["features"])]
    if not fitting:
        return None
    if fingerprint_of_directories([_INSTALLED / name for name in manifest["packages"]]) != manifest["sources"]:
        raise ValueError("it was made of other sources than those beside it")
    file: Path = DIRECTORY / fitting[0]["file"]
    if hashlib.sha256(file.read_bytes()).hexdigest() != fitting[0]["sha256"]:
        raise ValueError(f"{file.name} does not have the checksum of {MANIFEST}")
    return file


def processor_features() -> frozenset[str]:
    """Return the processor's features by Linux's names; none elsewhere."""
    try:
        with _CPUINFO.open(errors="replace") as lines:
            return frozenset(next((line for line in lines if line.startswith(("flags", "Features"))), "").split())
    except OSError:
        return frozenset()


def _functions(library: ctypes.CDLL) -> dict[str, list[Code]]:
    """Make Python's functions of a library's table, which ends with a row without a name."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
    row = ctypes.pointer(_Method.in_dll(library, TABLE))
    functions: dict[str, list[Code]] = {}
    for number in range(1 << 16):
        if row[number].name is None:
            break
        made = make(ctypes.addressof(row[number]), None, None)
        functions.setdefault(row[number].name.decode(), []).append(made)
    return functions
