"""Machine code of kernels on disk, from one process to the next.

A file holds one kernel as compiled for one signature and one kind of processor. Its directory is named after the
sources, its name after the rest, and its content begins with its checksum. So nothing in it is ever changed: processes
that start at once write the same, and what is torn, stale or made for another machine is never taken for good.

To load machine code is to execute code that others may have written: it is loaded only from files, and kept only in
directories, that belong to the user or to root and that nobody else may write (`read_trusted`).
"""

import hashlib
import os
import pickle
import shutil
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from inspect import getfile
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import uuid4

import numba
from numba import config
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from epoch.filesystem import REAL
from epoch.fingerprint import constants, fingerprint
from epoch.trusted_file import UntrustedFileError, ensure_trusted_directory, read_trusted
from epoch.user_cache import user_cache

_DIGEST: Final = hashlib.sha256().digest_size
_USED: Final[set[Path]] = set()
_FAILURES: Final[list[str]] = []
_WARNED: Final[list[bool]] = []
_REFUSED: Final[dict[Path, str]] = {}
"""Why files or directories were not trusted."""


class NoKernelCacheWarning(RuntimeWarning):
    """No directory for compiled kernels is writable: each process compiles them again."""


class UntrustedKernelCacheWarning(RuntimeWarning):
    """Compiled kernels were not loaded, since other users may have written them; they are compiled again."""


def used_directories() -> list[Path]:
    """Return the directories that this process has loaded kernels from or kept them in."""
    return sorted(_USED)


def could_keep_all() -> bool:
    """Tell whether this process could keep all that it compiled."""
    return not _FAILURES


class Place(NamedTuple):
    """Where kernels may be kept, in a directory for those of one package."""

    path: Path
    is_beside_sources: bool

    @property
    def guarded(self) -> Path | None:
        """Whose way has to be safe too: not beside sources, as who can change that can change the sources."""
        return None if self.is_beside_sources else self.path


class KernelCache(NullCache):
    """The machine code of one kernel on disk.

    It is kept in NUMBA_CACHE_DIR where that is set. Else it is looked for in `__pycache__` beside the source and in the
    user's cache directory, and written to the first of the two that can be: what root compiled when a package was
    installed serves users who may not write there.

    numba's own cache has an index beside the code, which is written first: whoever reads or dies in between takes old
    machine code for new. Of two processes that compile different signatures at once it keeps one under the other's
    name. It fails on a torn file and on a full disk, and does not look where it cannot write.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        # Of the sources as they are imported: an upgrade may replace them before the kernel is called.
        self._sources = fingerprint(function)

    @cached_property
    def places(self) -> list[Place]:
        """Where code is looked for and kept, in order."""
        return _places(Path(getfile(self._function)))

    @cached_property
    def directory_name(self) -> str:
        """The directory's in each of the places: it tells the sources."""
        return _directory_name(self._function, self._sources)

    @property
    def cache_path(self) -> str:
        """The first of the directories: numba's name for it."""
        return str(self.places[0].path / self.directory_name)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the kernel as compiled before, or None.

        numba would first load all that compiling needs, 0.1 s a process. Whatever has to be compiled after all makes
        it do so then.
        """
        rtsys.initialize(target_context)
        name = self._file_name(signature, target_context.codegen())
        for place in self.places:
            if (content := _read(place, place.path / self.directory_name / name)) is not None:
                rebuild: Any = CompileResult._rebuild  # noqa: SLF001  numba's name for it
                return rebuild(target_context, *pickle.loads(content))  # noqa: S301  what `_write` wrote
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a kernel that was just compiled; where no directory can be written, warn once a process."""
        if compiled.library.has_dynamic_globals:  # addresses of this process are in it
            return
        content: bytes = dumps(compiled._reduce())  # type: ignore[no-untyped-call]  # noqa: SLF001  as above
        name = self._file_name(signature, compiled.codegen)
        failures = []
        for place in self.places:
            directory = place.path / self.directory_name
            is_first = not directory.exists()
            try:
                _write(place, directory / name, content)
            except OSError as error:
                failures.append(f"{error.filename or directory}: {error.strerror}")
                continue
            # Other places serve several installations.
            if is_first and place.is_beside_sources:
                with suppress(OSError):  # the sources are being replaced
                    self._remove_older(directory)
            _warn_of_refused()
            return
        _warn_once("; ".join(failures) or "the user has no directory for them")

    def _remove_older(self, directory: Path) -> None:
        """Remove what former sources were compiled to from beside them."""
        present = _directory_name(self._function, fingerprint(self._function, anew=True))
        if directory.name != present:
            return  # this process is what is left of a former version
        for other in directory.parent.glob(_directory_name(self._function, "*")):
            if other != directory:
                shutil.rmtree(other, ignore_errors=True)

    def _file_name(self, signature: Any, codegen: Any) -> str:
        """Name the file after all that the code depends on beside the sources."""
        function = self._function
        made_by = (numba.__version__, sys.implementation.cache_tag, sys.abiflags)
        line = function.__code__.co_firstlineno
        key = repr((signature, codegen.magic_tuple(), line, constants(function), made_by))
        digest = hashlib.sha256(key.encode()).hexdigest()
        return f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}-{digest[:24]}.nbc"


def _directory_name(function: Callable[..., Any], of_sources: str) -> str:
    return f"{function.__module__.rpartition('.')[0]}-{of_sources[:24]}"


def _places(source: Path) -> list[Place]:
    chosen: str = config.CACHE_DIR  # type: ignore[attr-defined]  # set while numba is imported
    if chosen:
        return [Place(Path(chosen), is_beside_sources=False)]
    # Beside sources in an archive there is no place, and not every user has a home.
    possible = [Place(source.parent / "__pycache__", is_beside_sources=True)] if source.exists() else []
    user = user_cache()
    return possible if user is None else [*possible, Place(user, is_beside_sources=False)]


def _read(place: Place, path: Path) -> bytes | None:
    """Return what was kept in a file; None where it is missing, may not be read, or is torn."""
    try:
        content = read_trusted(path, below=place.guarded)
    except UntrustedFileError as error:
        _REFUSED[path.parent] = f"{error.filename}: {error.strerror}"
        return None
    except OSError:
        return None
    kept = content[_DIGEST:]
    if hashlib.sha256(kept).digest() != content[:_DIGEST]:
        return None
    _USED.add(path.parent)
    return kept


def _write(place: Place, path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all. Raises OSError, also where it would not be read again."""
    # Other users may read beside sources what root compiled when it installed them: they would trust nobody else.
    is_shared = place.is_beside_sources and os.geteuid() == 0
    REAL.make_private_directories(path.parent, 0o755 if is_shared else 0o700)
    ensure_trusted_directory(path.parent, below=place.guarded)
    temporary = path.with_name(f"{path.name}.{uuid4().hex}")
    try:
        # It may be lost to a crash, as its checksum tells: nothing waits for the disk.
        descriptor = REAL.open(temporary, truncate=True)
        try:
            REAL.write(descriptor, hashlib.sha256(content).digest() + content)
        finally:
            REAL.close(descriptor)
        REAL.rename(temporary, path)
    except OSError:
        with suppress(OSError):
            REAL.unlink(temporary)
        raise
    _USED.add(path.parent)


def _warn_of_refused() -> None:
    """Warn once a process, and once there is something to be compiled for it."""
    if not _REFUSED or _WARNED:
        return
    _WARNED.append(True)
    warnings.warn(
        "compiled kernels were found that other users may have written, so that they are not loaded but compiled anew: "
        f"{'; '.join(sorted(_REFUSED.values()))}; remove that directory, or set NUMBA_CACHE_DIR to one that only you "
        "can write",
        UntrustedKernelCacheWarning,
        stacklevel=2,
    )


def _warn_once(failures: str) -> None:
    if _FAILURES:
        return
    _FAILURES.append(failures)
    warnings.warn(
        f"compiled kernels cannot be kept, so that each process compiles them anew: {failures}; set NUMBA_CACHE_DIR to "
        "a directory that you can write, and nobody else",
        NoKernelCacheWarning,
        stacklevel=2,
    )
