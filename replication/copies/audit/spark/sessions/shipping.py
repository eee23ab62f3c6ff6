"""Sends these packages to the executors of a cluster, which then need only their dependencies installed."""

import atexit
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

PACKAGES: Final = ("epoch", "logstore", "replication")
_SHIPPED_SUFFIXES: Final = {".py", ".pyi", ".properties", ".js", ".css"}
_SHIPPED: Final = "epochlog-packages.zip"


def ship_packages(spark: SparkSession) -> None:
    """Add the packages to what the session's executors import, before anything installed there."""
    directory = Path(tempfile.mkdtemp(prefix="epochlog-"))
    # Executors fetch the archive when they start their first task.
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    write_archive(directory / _SHIPPED)
    spark.addArtifacts(str(directory / _SHIPPED), pyfile=True)


def write_archive(archive: Path) -> None:
    """Write the packages' sources as an archive that Python imports from; equal sources give equal bytes."""
    root = Path(__file__).parents[5]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for package in PACKAGES:
            for source in sorted((root / package).rglob("*")):
                if source.suffix in _SHIPPED_SUFFIXES:
                    entry = zipfile.ZipInfo(str(source.relative_to(root)))
                    target.writestr(entry, source.read_bytes(), zipfile.ZIP_DEFLATED)
