"""Finds a Java that Spark can run on."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from replication.base.errors import JavaMissingError

OLDEST: Final = 17
MODULE: Final = "jdk.incubator.vector"
"""What Spark calls for at its start, and what runtimes that were trimmed lack."""
_USUAL_PLACES: Final = (
    "/usr/lib/jvm/*",
    "/opt/java/*",
    "/opt/jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
)
_VERSION: Final = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d{1,9})', re.MULTILINE)
_MODULES: Final = re.compile(r'^MODULES="([^"]*)"', re.MULTILINE)
_LISTING_SECONDS: Final = 60


def find_java() -> Path:
    """Return the home directory of a Java that Spark runs on: `JAVA_HOME`, that on the PATH, or where it is usually.

    Raises JavaMissingError, which names what was found instead and how to install one.
    """
    rejected: dict[Path, str] = {}
    for home in _homes():
        fault = fault_of(home)
        if fault is None:
            return home
        rejected[home] = fault
    raise JavaMissingError(rejected)


def fault_of(home: Path) -> str | None:
    """Return why Spark cannot run on the Java in `home`; None where it can."""
    if not (home / "bin/java").exists():
        return "no bin/java"
    try:
        described = (home / "release").read_text(errors="replace")
    except OSError:
        return _fault_by_asking(home)
    version, modules = _VERSION.search(described), _MODULES.search(described)
    if version is None or modules is None:
        return _fault_by_asking(home)
    if int(version[1]) < OLDEST:
        return f"version {version[1]}"
    return None if MODULE in modules[1].split() else f"without {MODULE}"


def _fault_by_asking(home: Path) -> str | None:
    """Start the Java, which takes longer than to read what its `release` file says."""
    command = [str(home / "bin/java"), "--list-modules"]  # unknown to Java 8
    try:
        listing = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_LISTING_SECONDS).stdout  # noqa: S603  the user's own Java
    except (OSError, subprocess.SubprocessError) as error:
        return f"cannot be run: {error}"
    modules = dict(line.partition("@")[::2] for line in listing.splitlines())
    major = re.match(r"\d+", modules.get("java.base", ""))
    if major is None or int(major[0]) < OLDEST:
        return f"version {modules.get('java.base') or 'unknown'}"
    return None if MODULE in modules else f"without {MODULE}"


def _homes() -> Iterator[Path]:
    """Name each place where a Java may be, the likeliest first."""
    if named := os.environ.get("JAVA_HOME"):
        yield Path(named)
    if on_path := shutil.which("java"):
        yield Path(on_path).resolve().parent.parent
    for pattern in _USUAL_PLACES:
        place = Path(pattern).expanduser()
        yield from sorted(Path(place.anchor).glob(str(place.relative_to(place.anchor))))
