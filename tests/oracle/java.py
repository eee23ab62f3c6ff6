"""How the tests start Java: soon, rather than fast, from an archive of classes where there is one (AppCDS, JEP 310).

An archive holds what a program loads at its start, parsed and verified. It belongs to the jars of one class path and to
one Java; who has neither starts without it, only later. `python -m tests.class_archives` makes them.
"""

import hashlib
import shutil
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path

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
    told = "".join(f"{jar.name} {(of := jar.stat()).st_size} {of.st_mtime_ns}\n" for jar in sorted(jars.glob("*.jar")))
    digest = hashlib.sha256(f"{_java()}\n{jars}\n{told}".encode()).hexdigest()
    return BUILD / f"{jars.parent.name}-{jars.name}-{digest[:16]}.jsa"


def spark_options() -> str:
    """Java's options to start Spark soon, for SPARK_SUBMIT_OPTS."""
    archived = from_archive(spark_jars()) if shutil.which("java") else []
    return " ".join(["-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m", *archived])


def spark_jars() -> Path:
    """The directory of Spark's jars, as PySpark brings them."""
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "jars"


@cache
def _java() -> str:
    """The Java on PATH, as it tells of itself."""
    return subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
