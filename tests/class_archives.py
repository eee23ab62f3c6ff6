"""Makes the archives of classes from which the tests start Kafka and Spark: python -m tests.class_archives

Each program runs once and lists what it loads. That takes a minute, and is done again when the jars or Java change.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.made_once import only_maker
from tests.oracle.broker import Broker, java
from tests.oracle.java import BUILD, archive_of
from tests.oracle.kafka import classpath, java_version
from tests.oracle.release import KafkaRelease, releases_of_this_run

MakeLists = Callable[[Path], None]


def main() -> None:
    """Make those that are not there, at once; without Java there are none."""
    if not java_version():
        return
    with ThreadPoolExecutor() as pool:
        kafkas = [pool.submit(make_that_of_kafka, release) for release in releases_of_this_run()]
        for made in [pool.submit(make_that_of_spark), *kafkas]:
            made.result()


def make_that_of_spark() -> None:
    """Make the one that users have."""
    subprocess.run([sys.executable, "-m", "epochlog", "warm", "--spark"], check=True, capture_output=True)


def make_that_of_kafka(release: KafkaRelease) -> None:
    """Make it where Kafka's jars can be had."""
    try:
        classpath(release)
    except pytest.skip.Exception as error:
        sys.stderr.write(f"no archive of Kafka's classes: {error}\n")
        return
    make(release.jars, f"{release.jars}/*", partial(lists_of_a_broker, release))


def make(jars: Path, class_path: str, make_lists: MakeLists) -> None:
    """Make the archive of a directory's jars, in place of an older one, from all lists that `make_lists` leaves."""
    archive = archive_of(jars)
    name = archive.name.rpartition("-")[0]
    with only_maker(BUILD / name), tempfile.TemporaryDirectory(dir=BUILD) as directory:
        if archive.exists():
            return
        place = Path(directory)
        make_lists(place)
        classes = dict.fromkeys(line for file in sorted(place.glob("*.list")) for line in lines_of(file))
        (place / "all").write_text("".join(classes))
        files = [f"-XX:SharedClassListFile={place / 'all'}", f"-XX:SharedArchiveFile={place / 'archive'}"]
        dump = ["java", "-XX:+UseSerialGC", "-Xshare:dump", "-Xlog:disable", *files, "-cp", class_path]
        subprocess.run(dump, check=True, capture_output=True)
        for older in BUILD.glob(f"{name}-*.jsa"):
            older.unlink()
        (place / "archive").rename(archive)


def lines_of(file: Path) -> list[str]:
    return file.read_text().splitlines(keepends=True)


def lists_of_a_broker(release: KafkaRelease, directory: Path) -> None:
    """List what a broker loads until it serves, and a tool that asks it."""
    with Broker(directory, release, [listing(directory / "broker.list")]) as broker:
        tool = ["org.apache.kafka.tools.TopicCommand", "--bootstrap-server", broker.address, "--create", "--topic", "t"]
        subprocess.run([*java(release, listing(directory / "tool.list")), *tool], check=True, capture_output=True)
    formatting = ["kafka.tools.StorageTool", "random-uuid"]
    subprocess.run([*java(release, listing(directory / "format.list")), *formatting], check=True, capture_output=True)


def listing(file: Path) -> str:
    """Java's option to list the classes that it loads."""
    return f"-XX:DumpLoadedClassList={file}"


if __name__ == "__main__":
    main()
