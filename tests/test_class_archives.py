"""An archive of classes belongs to certain jars and to one Java; without it programs start too."""

import os
import subprocess
from pathlib import Path

import pytest

from tests import class_archives
from tests.oracle import java
from tests.oracle.java import archive_of, from_archive, spark_options
from tests.oracle.kafka import classpath, java_version
from tests.oracle.release import KafkaRelease


@pytest.fixture
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(java, "BUILD", tmp_path / "build")
    monkeypatch.setattr(java, "_java", lambda: "17")
    (tmp_path / "build").mkdir()
    jars = tmp_path / "lib"
    jars.mkdir()
    (jars / "a.jar").write_bytes(b"a")
    return jars


def test_programs_start_without_an_archive_too(jars: Path) -> None:
    assert from_archive(jars) == []
    archive_of(jars).touch()
    assert f"-XX:SharedArchiveFile={archive_of(jars)}" in from_archive(jars)


def test_other_jars_or_another_java_want_another_archive(jars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = archive_of(jars)
    assert archive_of(jars) == first
    os.utime(jars / "a.jar", ns=(1, 1))
    touched = archive_of(jars)
    (jars / "b.jar").touch()
    added = archive_of(jars)
    monkeypatch.setattr(java, "_java", lambda: "21")
    assert len({first, touched, added, archive_of(jars)}) == 4


def test_kafkas_classes_come_from_the_archive_that_was_made(release: KafkaRelease, tmp_path: Path) -> None:
    class_path = classpath(release)  # skips where Kafka's classes cannot be had
    if not archive_of(release.jars).exists():
        pytest.skip("no archive was made: this is not `make test`")
    log = tmp_path / "log"
    command = ["java", *from_archive(release.jars), f"-Xlog:class+load:file={log}", "-cp", class_path, "kafka.Kafka"]
    subprocess.run(command, check=False, capture_output=True)
    assert any("kafka.Kafka" in line and "shared objects file" in line for line in log.read_text().splitlines())


def test_an_archive_takes_the_place_of_an_older_one(jars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not java_version():
        pytest.skip("a Java development kit is missing")
    monkeypatch.setattr(class_archives, "BUILD", java.BUILD)
    older = java.BUILD / f"{archive_of(jars).name.rpartition('-')[0]}-0000.jsa"
    older.touch()

    def make_lists(place: Path) -> None:
        (place / "a.list").write_text("java/lang/Object id: 0\n")

    class_archives.make(jars, "", make_lists)
    assert archive_of(jars).stat().st_size > 0
    assert not older.exists()


def test_spark_starts_with_options_that_are_one_line() -> None:
    assert spark_options().startswith("-XX:TieredStopAtLevel=1")
