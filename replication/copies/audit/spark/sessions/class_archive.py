"""Java's classes as it has parsed and verified them, in a file from which Spark starts sooner (AppCDS, JEP 350).

An archive belongs to one Java, to the jars of one Spark and to Java's other options. Java itself checks that too, and
starts without where it does not fit. But it believes what the file holds: so it is given only what is whole by the
checksum in its name, and what nobody but this user and root can have written, as with machine code of kernels.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

import crc32c

from epoch.compiling.trusted_file import ensure_trusted_directory, open_trusted
from epoch.compiling.user_cache import user_cache
from epoch.filesystem import REAL
from replication.base.errors import NoClassArchiveError

_SILENT: Final = "-Xlog:disable"
"""What Java has to say of an archive it would print where a command's result goes."""
_PART: Final = 1 << 20
_FLAGS: Final = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
"""Variables by which users give options to Java, some of which an archive depends on."""


class Place(NamedTuple):
    """Where the archive of one Java and one Spark is kept."""

    cache: Path
    """What leads there has to be safe too."""
    spark: str
    rest: str

    @property
    def directory(self) -> Path:
        """Where archives lie."""
        return self.cache / "java"

    @property
    def pattern(self) -> str:
        """Which files are its own."""
        return f"spark-{self.spark}-{self.rest}-*.jsa"

    @property
    def pattern_of_all(self) -> str:
        """Which files are of the same Spark, with another Java or as it once was."""
        return f"spark-{self.spark}-*.jsa"

    def file(self, checksum: str) -> Path:
        """Return the file of an archive with this checksum."""
        return self.directory / self.pattern.replace("*", checksum)


def archive_options(java: Path) -> list[str]:
    """Return the options by which the Java in a directory starts from its archive; none where there is none for it."""
    archive = find_archive(java)
    return [] if archive is None else [f"-XX:SharedArchiveFile={archive}", _SILENT]


def find_archive(java: Path) -> Path | None:
    """Return the archive of a Java, for Spark as it is installed here, if it is there, whole, and to be trusted."""
    place = _place(java)
    if place is None:
        return None
    with suppress(OSError):  # it may not be listed, or not be trusted
        for file in sorted(place.directory.glob(place.pattern)):
            if place.file(_checksum(file, below=place.cache)) == file:
                return file
    return None


def keep_archive(java: Path, run: Callable[[list[str]], object]) -> Path:
    """Keep the archive that Java writes at its end, in place of this Spark's older ones.

    `run` starts Java with the options that it is given, and waits for its end. Raises NoClassArchiveError where nothing
    was written, or there is no directory for it, and OSError where that cannot be written, or others could write it.
    """
    place = _place(java)
    if place is None:
        raise NoClassArchiveError("this user has no directory for it, or that Java does not say which it is")
    REAL.make_private_directories(place.directory)
    ensure_trusted_directory(place.directory, below=place.cache)
    with tempfile.TemporaryDirectory(dir=place.directory) as scratch:
        made, said = Path(scratch) / "made.jsa", Path(scratch) / "said"
        run([f"-XX:ArchiveClassesAtExit={made}", _SILENT, f"-Xlog:all=warning:file={said}"])
        if not made.exists():
            raise NoClassArchiveError(_last_line(said) or "it does not say why")
        kept = place.file(_checksum(made, below=place.cache))
        REAL.rename(made, kept)
    for other in place.directory.glob(place.pattern_of_all):
        if other != kept:
            REAL.unlink(other)
    return kept


def digest_of_jars(java: str, jars: Path, flags: Sequence[str] = ()) -> str:
    """Return what changes with whatever an archive of these jars depends on; `java` says which Java it is."""
    found = ((jar.name, jar.stat()) for jar in sorted(jars.glob("*.jar")))
    return _digest(java, str(jars), *flags, *(f"{name} {of.st_size} {of.st_mtime_ns}" for name, of in found))


def _place(java: Path) -> Place | None:
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    cache = Path(chosen).absolute() if chosen else user_cache()
    if cache is None:
        return None
    jars = spark_jars()
    try:
        release = (java / "release").read_text(errors="replace")
        rest = digest_of_jars(f"{java}\n{release}", jars, [os.environ.get(each, "") for each in _FLAGS])
    except OSError:
        return None
    return Place(cache, _digest(str(jars)), rest)


def spark_jars() -> Path:
    """Return the directory of the jars of Spark as it is started here; to find them takes no import of it."""
    named = os.environ.get("SPARK_HOME")
    found = find_spec("pyspark")
    brought = found.submodule_search_locations if found else None
    return Path(named or next(iter(brought or []), "")) / "jars"


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode(errors="surrogateescape")).hexdigest()[:16]


def _checksum(file: Path, *, below: Path) -> str:
    value = 0
    with open_trusted(file, below=below) as opened:
        while part := opened.read(_PART):
            value = crc32c.crc32c(part, value)
    return f"{value:08x}"


def _last_line(file: Path) -> str:
    lines = file.read_text(errors="replace").splitlines() if file.exists() else []
    return lines[-1] if lines else ""
