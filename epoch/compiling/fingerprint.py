"""What a kernel's machine code depends on: the sources beside it, and the constants that it takes from elsewhere."""

import hashlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_OWN: Final = (
    "fingerprint.py",
    "kernel.py",
    "trusted_file.py",
    "kernel_cache.py",
    "kernel_files.py",
)
"""The sources that say how kernels are compiled and kept."""
_CONSTANTS: Final = (bool, int, float, str, bytes, tuple, np.generic)


def fingerprint(function: Callable[..., Any], *, anew: bool = False) -> str:
    """Hash all sources of a kernel's package, and those that compile it, as they first were or `anew`.

    numba compares only the file that defines the kernel, and would go on using machine code into which older helpers
    of neighbouring modules were compiled.
    """
    package = _directory(Path(inspect.getfile(function)), function.__module__)
    return _hash(package) if anew else _first_hash(package)  # type: ignore[arg-type]  # its classes can be hashed


def _hash(package: "Traversable") -> str:
    own = _directory(Path(__file__), __name__)
    compiling = [own / name for name in _OWN]
    sources = [source for source in package.iterdir() if source.name.endswith(".py")]
    digest = hashlib.sha256()
    for source in (*compiling, *sorted(sources, key=_name)):
        content = source.read_bytes()
        digest.update(f"{source.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


_first_hash = cache(_hash)


def fingerprint_of_all(package: str, *, anew: bool = False) -> str:
    """Hash all sources of a top-level package and of this one, as they first were or `anew`; they lie in directories.

    For whoever does not know what a kernel takes from where, as that would be to load it.
    """
    return _hash_of_all(package) if anew else _first_hash_of_all(package)


def _hash_of_all(package: str) -> str:
    packages = dict.fromkeys((package, __name__.partition(".")[0]))
    return fingerprint_of_directories(Path(sys.modules[name].__file__ or "").parent for name in packages)


def fingerprint_of_directories(roots: Iterable[Path]) -> str:
    """Hash all sources below some directories. Raises OSError."""
    digest = hashlib.sha256()
    for root in roots:
        for directory, below, files_there in os.walk(root, onerror=_fail):
            below.sort()
            for file in sorted(each for each in files_there if each.endswith(".py")):
                content = Path(directory, file).read_bytes()
                digest.update(f"{directory.removeprefix(str(root))} {file} {len(content)}\n".encode())
                digest.update(content)
    return digest.hexdigest()


def _fail(error: OSError) -> None:
    """Raise it: what cannot be read would pass for what is not there."""
    raise error


_first_hash_of_all = cache(_hash_of_all)


def constants(function: Callable[..., Any]) -> list[str]:
    """Return the values of all globals that a kernel and its helpers name: they are compiled into it."""
    return sorted(set(_constants(function, set())))


def _constants(function: Callable[..., Any], seen: set[Callable[..., Any]]) -> Iterator[str]:
    if function in seen:
        return
    seen.add(function)
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        called = getattr(value, "py_func", value)
        if isinstance(called, FunctionType):
            yield from _constants(called, seen)
        elif isinstance(value, type) and issubclass(value, Enum):
            yield f"{name} {[(each.name, each.value) for each in value]}"
        elif isinstance(value, np.ndarray):
            yield f"{name} {value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
        elif isinstance(value, _CONSTANTS):
            yield f"{name} {value!r}"


def _name(source: "Traversable") -> str:
    return source.name


def _directory(source: Path, module: str) -> "Traversable":
    """Return where the sources of a module's package lie: a directory, or a place in an archive."""
    return source.parent if source.exists() else files(module.rpartition(".")[0])
