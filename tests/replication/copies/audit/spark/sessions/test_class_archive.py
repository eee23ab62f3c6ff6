"""Spark starts from an archive of classes that fits, is whole, and was written by nobody else; and without it too."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from errno import EACCES
from pathlib import Path

import pytest

from epoch.compiling.trusted_file import UntrustedFileError
from replication.base.errors import NoClassArchiveError
from replication.copies.audit.spark.sessions.class_archive import (
    archive_options,
    find_archive,
    keep_archive,
    spark_jars,
)
from replication.copies.audit.spark.sessions.java import find_java
from tests.conftest import require_java_for_spark

Change = Callable[[Path], object]
WRITES = "-XX:ArchiveClassesAtExit="
SAYS = "-Xlog:all=warning:file="
USE = """
import sys
from replication.copies.audit.spark.sessions.class_archive import archive_options
from replication.copies.audit.spark.sessions.java import find_java
from replication.copies.audit.spark.sessions.session import session_for_a_while

with session_for_a_while(java_options=[*archive_options(find_java()), f"-Xlog:class+load:file={sys.argv[1]}"]) as spark:
    print(spark.range(3).count())
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home with a Java and a Spark of no substance."""
    for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "NUMBA_CACHE_DIR", "SPARK_SUBMIT_OPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    (tmp_path / "spark/jars").mkdir(parents=True)
    (tmp_path / "spark/jars/a.jar").write_bytes(b"a")
    (tmp_path / "java").mkdir()
    (tmp_path / "java/release").write_text('JAVA_VERSION="17.0.15"\n')
    return tmp_path


def java_that_writes(content: bytes) -> Callable[[list[str]], None]:
    """A stand-in for Java, which does what its options say when it ends."""

    def run(options: list[str]) -> None:
        [target] = [each.removeprefix(WRITES) for each in options if each.startswith(WRITES)]
        Path(target).write_bytes(content)

    return run


def kept(place: Path, content: bytes = b"classes") -> Path:
    return keep_archive(place / "java", java_that_writes(content))


def test_without_an_archive_java_gets_no_option(place: Path) -> None:
    assert archive_options(place / "java") == []


def test_java_starts_from_what_was_kept(place: Path) -> None:
    file = kept(place)
    assert file.is_relative_to(place / "cache/epochlog")
    assert file.read_bytes() == b"classes"
    assert archive_options(place / "java") == [f"-XX:SharedArchiveFile={file}", "-Xlog:disable"]
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_it_is_kept_where_kernels_are_if_a_directory_is_named_for_them(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(place / "kernels"))
    assert kept(place).is_relative_to(place / "kernels")


@pytest.mark.parametrize(
    "change",
    [
        lambda place: (place / "java/release").write_text('JAVA_VERSION="17.0.16"\n'),
        lambda place: (place / "java/release").unlink(),
        lambda place: os.utime(place / "spark/jars/a.jar", ns=(1, 1)),
        lambda place: (place / "spark/jars/a.jar").write_bytes(b"aa"),
        lambda place: (place / "spark/jars/a.jar").rename(place / "spark/jars/b.jar"),
        lambda place: (place / "spark/jars/b.jar").touch(),
    ],
    ids=["another Java", "unknown Java", "touched", "grown", "renamed", "added"],
)
def test_another_java_and_other_jars_start_without_it(place: Path, change: Change) -> None:
    kept(place)
    change(place)
    assert find_archive(place / "java") is None


@pytest.mark.parametrize("name", ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS"])
def test_other_options_of_the_user_want_another_archive(
    place: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(place)
    monkeypatch.setenv(name, "-XX:-UseCompressedOops")
    assert find_archive(place / "java") is None
    assert kept(place) == find_archive(place / "java")


@pytest.mark.parametrize("content", [b"", b"class", b"clashes", b"classes and more"])
def test_a_torn_archive_is_not_given_to_java(place: Path, content: bytes) -> None:
    kept(place).write_bytes(content)
    assert archive_options(place / "java") == []


@pytest.mark.parametrize("mode", [0o622, 0o666, 0o660])
def test_an_archive_that_others_may_write_is_not_given_to_java(place: Path, mode: int) -> None:
    file = kept(place)
    file.chmod(mode)
    assert archive_options(place / "java") == []


@pytest.mark.parametrize("writable", ["java", "."])
def test_nor_is_one_that_others_may_replace(place: Path, writable: str) -> None:
    kept(place)
    (place / "cache/epochlog" / writable).chmod(0o777)
    assert archive_options(place / "java") == []
    with pytest.raises(UntrustedFileError, match="other users may"):
        kept(place)


def test_nor_a_link_to_one(place: Path) -> None:
    file = kept(place)
    file.rename(place / "elsewhere")
    file.symlink_to(place / "elsewhere")
    assert archive_options(place / "java") == []


def test_a_directory_that_may_not_be_listed_has_none(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As another user's, where several share a cache."""
    kept(place)
    listed = Path.glob

    def glob(path: Path, pattern: str) -> Iterator[Path]:
        if path.name == "java":
            raise PermissionError(EACCES, "Permission denied", str(path))
        return listed(path, pattern)

    monkeypatch.setattr(Path, "glob", glob)
    assert archive_options(place / "java") == []


def test_a_new_archive_takes_the_place_of_those_of_the_same_spark_alone(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = kept(place)
    (place / "spark/jars/b.jar").touch()
    second = kept(place, b"more classes")
    assert not first.exists()
    (place / "other/jars").mkdir(parents=True)
    monkeypatch.setenv("SPARK_HOME", str(place / "other"))
    third = kept(place)
    assert second.exists()
    assert find_archive(place / "java") == third


def test_java_that_writes_none_is_reported_with_its_reason(place: Path) -> None:
    def run(options: list[str]) -> None:
        [said] = [each.removeprefix(SAYS) for each in options if each.startswith(SAYS)]
        Path(said).write_text("[cds] one\n[cds] Cannot have non-empty directory in paths\n")

    with pytest.raises(NoClassArchiveError, match=r"kept: \[cds\] Cannot have non-empty directory in paths; Spark"):
        keep_archive(place / "java", run)
    with pytest.raises(NoClassArchiveError, match="it does not say why"):
        keep_archive(place / "java", lambda _options: None)
    assert list((place / "cache/epochlog/java").iterdir()) == []


def test_where_there_is_no_directory_for_it_spark_starts_without(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert archive_options(place / "java") == []
    with pytest.raises(NoClassArchiveError, match="no directory"):
        kept(place)


@pytest.mark.parametrize("content", [b"", b"no archive at all" * 1_000])
def test_java_starts_with_a_foreign_file_too_and_says_nothing_of_it(tmp_path: Path, content: bytes) -> None:
    require_java_for_spark()
    (tmp_path / "foreign.jsa").write_bytes(content)
    options = [f"-XX:SharedArchiveFile={tmp_path / 'foreign.jsa'}", "-Xlog:disable"]
    done = subprocess.run([find_java() / "bin/java", *options, "-version"], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert "foreign" not in done.stderr


def test_warm_keeps_an_archive_from_which_spark_starts(tmp_path: Path) -> None:
    """In a directory with a blank in its name, which options have to survive."""
    require_java_for_spark()
    cache = tmp_path / "a cache"
    cache.mkdir()
    kept = {name: value for name, value in os.environ.items() if name != "SPARK_SUBMIT_OPTS"}
    environment = {**kept, "XDG_CACHE_HOME": str(cache)}
    environment.pop("NUMBA_CACHE_DIR", None)
    warm = [sys.executable, "-m", "epochlog", "warm", "--spark"]
    first, second = (subprocess.run(warm, env=environment, capture_output=True, text=True, check=True) for _ in "12")
    [file] = cache.rglob("*.jsa")
    last = f"{file.stat().st_size / 1e6:.1f} MB of Spark's classes in {file}"
    assert first.stdout.splitlines()[-1] == second.stdout.splitlines()[-1] == last
    assert (first.stderr, second.stderr) == ("", "")

    log = tmp_path / "loaded"
    use = [sys.executable, "-c", USE, log]
    used = subprocess.run(use, env=environment, capture_output=True, text=True, check=True)
    assert used.stdout == "3\n"
    lines = log.read_text().splitlines()
    archived = [line for line in lines if "source: shared objects file (top)" in line]
    from_jars = [line for line in lines if "/spark-" in line]
    assert len(archived) > 1_000 + 10 * len(from_jars)


def test_the_jars_of_spark_are_where_pyspark_brings_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    assert list(spark_jars().glob("spark-core_*.jar"))
