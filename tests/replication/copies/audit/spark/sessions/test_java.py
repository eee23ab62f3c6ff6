"""A Java is taken only if Spark runs on it; without one the error says how to get it."""

from pathlib import Path

import pytest

from replication.base.errors import JavaMissingError
from replication.copies.audit.spark.sessions import java
from replication.copies.audit.spark.sessions.java import fault_of, find_java

COMPLETE = 'JAVA_VERSION="17.0.15"\nMODULES="java.base jdk.incubator.vector java.xml"\n'


def a_java(home: Path, release: str | None = None, listing: str = "") -> Path:
    (home / "bin").mkdir(parents=True)
    program = home / "bin/java"
    program.write_text(f"#!/bin/sh\ncat <<END\n{listing}\nEND\n")
    program.chmod(0o755)
    if release is not None:
        (home / "release").write_text(release)
    return home


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine without Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(java, "_USUAL_PLACES", ())
    return monkeypatch


def test_a_complete_java_has_no_fault(tmp_path: Path) -> None:
    assert fault_of(a_java(tmp_path, COMPLETE)) is None


@pytest.mark.parametrize(
    ("release", "fault"),
    [
        ('JAVA_VERSION="11.0.2"\nMODULES="java.base jdk.incubator.vector"\n', "version 11"),
        ('JAVA_VERSION="1.8.0_392"\nMODULES="java.base"\n', "version 8"),
        ('JAVA_VERSION="21"\nMODULES="java.base java.xml"\n', "without jdk.incubator.vector"),
    ],
)
def test_old_and_trimmed_ones_have(tmp_path: Path, release: str, fault: str) -> None:
    assert fault_of(a_java(tmp_path, release)) == fault


def test_one_that_does_not_describe_itself_is_asked(tmp_path: Path) -> None:
    assert fault_of(a_java(tmp_path / "a", listing="java.base@21.0.1\njdk.incubator.vector@21.0.1")) is None
    assert fault_of(a_java(tmp_path / "b", listing="java.base@21.0.1")) == "without jdk.incubator.vector"
    assert "version" in (fault_of(a_java(tmp_path / "c")) or "")


def test_java_home_goes_first_then_the_path_then_the_usual_places(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usual = a_java(tmp_path / "usual/17", COMPLETE)
    nowhere.setattr(java, "_USUAL_PLACES", (f"{tmp_path}/usual/*",))
    assert find_java() == usual
    on_path = a_java(tmp_path / "on-path", COMPLETE)
    nowhere.setenv("PATH", str(on_path / "bin"))
    assert find_java() == on_path
    named = a_java(tmp_path / "named", COMPLETE)
    nowhere.setenv("JAVA_HOME", str(named))
    assert find_java() == named


def test_one_that_does_not_do_is_passed_over(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trimmed = a_java(tmp_path / "trimmed", 'JAVA_VERSION="21"\nMODULES="java.base"\n')
    complete = a_java(tmp_path / "complete", COMPLETE)
    nowhere.setenv("JAVA_HOME", str(trimmed))
    nowhere.setenv("PATH", str(complete / "bin"))

    assert find_java() == complete


def test_without_any_the_error_says_what_was_found_and_how_to_get_one(
    nowhere: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nowhere.setenv("JAVA_HOME", str(a_java(tmp_path, 'JAVA_VERSION="21"\nMODULES="java.base"\n')))

    with pytest.raises(JavaMissingError, match=r"without jdk\.incubator\.vector.*apt-get install openjdk-17"):
        find_java()
