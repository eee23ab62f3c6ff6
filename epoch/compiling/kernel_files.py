"""Where the machine code of kernels is kept on disk, from one process to the next.

A directory is named after the sources, a file in it after all else that its code depends on, and a file's content
begins with its checksum. So nothing in it is ever changed: processes that start at once write the same, and what is
torn, stale or made for another machine is never taken for good.

To load machine code is to execute code that others may have written: it is loaded only from files, and kept only in
directories, that belong to the user or to root and that nobody else may write (`read_trusted`).
"""

import errno
import hashlib
import os
import shutil
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple
from uuid import uuid4

from epoch.compiling.trusted_file import UntrustedFileError, ensure_trusted_directory, read_trusted
from epoch.compiling.user_cache import user_cache
from epoch.filesystem import REAL

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
    """Whether this process was able to keep all that it compiled."""
    return not _FAILURES


class Place(NamedTuple):
    """Where kernels may be kept, in a directory for those of one package."""

    path: Path
    is_beside_sources: bool

    @property
    def guarded(self) -> Path | None:
        """Whose way has to be safe too: not beside sources, as who can change that can change the sources."""
        return None if self.is_beside_sources else self.path


class KernelFiles:
    """The files of one package's kernels, as compiled from its sources of today.

    They are kept in the directory `chosen` (NUMBA_CACHE_DIR), where there is one. Else they are looked for in
    `__pycache__` beside the source and in the user's cache directory, and written to the first of the two that can be:
    what root compiled when a package was installed serves users who may not write there.
    """

    def __init__(self, source: Path, package: str, digest: Callable[..., str], chosen: str) -> None:
        """`digest` identifies the sources as they were imported: an upgrade may replace them before a kernel is called.

        With `anew=True` it returns them as they are now.
        """
        self._source = source
        self._package = package
        self._digest = digest
        self._digest_of_imported = digest()
        self._chosen = chosen

    @cached_property
    def places(self) -> list[Place]:
        """Where code is looked for and kept, in order."""
        if self._chosen:
            return [Place(Path(self._chosen), is_beside_sources=False)]
        # Beside sources in an archive there is no place, and not every user has a home.
        beside = Place(self._source.parent / "__pycache__", is_beside_sources=True)
        user = user_cache()
        possible = [beside] if self._source.exists() else []
        return possible if user is None else [*possible, Place(user, is_beside_sources=False)]

    @property
    def directory_name(self) -> str:
        """The directory's in each of the places: it identifies the sources."""
        return _directory_name(self._package, self._digest_of_imported)

    def read(self, name: str) -> bytes | None:
        """Return what was kept under this name, or None."""
        for place in self.places:
            if (content := _read(place, place.path / self.directory_name / name)) is not None:
                return content
        return None

    def keep(self, name: str, content: bytes) -> None:
        """Write a file; where no directory can be written, warn once a process."""
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

    def open(self, name: str) -> int:
        """Open a file among them that is never read, to be locked; return its descriptor. Raises OSError."""
        failure: OSError = FileNotFoundError(errno.ENOENT, "the user has no directory for them")
        for place in self.places:
            directory = place.path / self.directory_name
            try:
                _ensure_directory(place, directory)
                return os.open(directory / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            except OSError as error:
                failure = error
        raise failure

    def _remove_older(self, directory: Path) -> None:
        """Remove what former sources were compiled to from beside them."""
        if directory.name != _directory_name(self._package, self._digest(anew=True)):
            return  # this process is what is left of a former version
        for other in directory.parent.glob(_directory_name(self._package, "*")):
            if other != directory:
                shutil.rmtree(other, ignore_errors=True)


def _directory_name(package: str, digest: str) -> str:
    return f"{package}-{digest[:24]}"


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
    _ensure_directory(place, path.parent)
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


def _ensure_directory(place: Place, directory: Path) -> None:
    """Make a directory that is trusted. Raises OSError."""
    # Other users may read beside sources what root compiled when it installed them: they would trust nobody else.
    is_shared = place.is_beside_sources and os.geteuid() == 0
    REAL.make_private_directories(directory, 0o755 if is_shared else 0o700)
    ensure_trusted_directory(directory, below=place.guarded)


def _warn_of_refused() -> None:
    """Warn once a process, and once there is something to be compiled for it."""
    if not _REFUSED or _WARNED:
        return
    _WARNED.append(True)
    warnings.warn(
        "compiled kernels were found that other users may have written, so that they are not loaded but compiled "
        f"again: {'; '.join(sorted(_REFUSED.values()))}; remove that directory, or set NUMBA_CACHE_DIR to one that "
        "only you can write",
        UntrustedKernelCacheWarning,
        stacklevel=2,
    )


def _warn_once(failures: str) -> None:
    if _FAILURES:
        return
    _FAILURES.append(failures)
    warnings.warn(
        f"compiled kernels cannot be kept, so that each process compiles them again: {failures}; set NUMBA_CACHE_DIR "
        "to a directory that you can write, and nobody else",
        NoKernelCacheWarning,
        stacklevel=2,
    )
