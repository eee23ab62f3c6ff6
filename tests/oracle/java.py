"""How the tests start Java: soon, rather than fast, from an archive of classes where there is one (AppCDS, JEP 310).

An archive holds what a program loads at its start, parsed and verified. It belongs to the jars of one class path and to
one Java; who has neither starts without it, only later. `python -m tests.class_archives` makes them: that of Spark is
the product's own, in the user's cache directory.
"""

import shlex
import subprocess
from functools import cache
from pathlib import Path

from replication.base.errors import JavaMissingError
from replication.copies.audit.spark.sessions.class_archive import archive_options, digest_of_jars
from replication.copies.audit.spark.sessions.java import find_java

BUILD = Path(__file__).parents[2] / "build/java"
QUICK_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
SILENT = f"-Dlog4j2.configurationFile={Path(__file__).parent / 'log4j2-off.properties'}"


def from_archive(jars: Path) -> list[str]:
    """Java's options to take the classes of jars, which come first on the class path, from their archive."""
    archive = archive_of(jars)
    # What Java has to say about an archive it would print where programs answer.
    return [f"-XX:SharedArchiveFile={archive}", "-Xlog:disable"] if archive.exists() else []


def archive_of(jars: Path) -> Path:
    """Where the archive of a directory's jars is kept, whether it has been made or not."""
    return BUILD / f"{jars.parent.name}-{jars.name}-{digest_of_jars(_java(), jars)}.jsa"


def spark_options() -> str:
    """Java's options to start Spark soon, for SPARK_SUBMIT_OPTS."""
    try:
        archived = archive_options(find_java())
    except JavaMissingError:
        archived = []
    return shlex.join(["-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m", *archived])


@cache
def _java() -> str:
    """The Java on PATH, as it tells of itself."""
    return subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
