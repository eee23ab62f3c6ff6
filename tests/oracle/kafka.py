"""Kafka's own classes as a test oracle: resolved by Maven, driven by the Java programs in this directory.

with JavaProgram(KafkaRelease("4.4.0"), "EpochOracle") as oracle:
    oracle.ask("assign 3 100", "end 3 250")  # ["ok", "3 250"]
"""

import hashlib
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.conftest import require
from tests.made_once import only_maker
from tests.oracle.java import QUICK_START, SILENT, from_archive
from tests.oracle.release import BENCHMARKED, BUILD, KafkaRelease

HERE = Path(__file__).parent
TIMERS = HERE.parent.parent / "bench/peer/kafka"
ZOOKEEPER = BUILD / "zookeeper"
OLDEST_JAVA = 17
OTHER_LOGGERS = "reload4j,slf4j-reload4j"
"""What releases before 4.0 would log with."""

# Requests sent before the first answer is read: what they and their answers take must fit the two pipes.
WINDOW = 40


@cache
def java_version() -> int:
    """The major version of the Java on PATH; 0 where there is none with a compiler."""
    if not (shutil.which("java") and shutil.which("javac")):
        return 0
    told = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', told)
    return int(version[1]) if version else 0


@cache
def classpath(release: KafkaRelease) -> str:
    """Kafka's jars, and the programs of this directory compiled against them; skips where that cannot be had."""
    _require_java()
    with only_maker(BUILD):
        options = (f"-Dkafka.version={release.version}", f"-DexcludeArtifactIds={OTHER_LOGGERS}")
        _resolve(HERE / "pom.xml", release.jars, str(release), *options)
        _compile(release)
    return f"{release.jars}/*:{release.classes}"  # an archive of classes asks for its jars first


def kafka_options(release: KafkaRelease) -> list[str]:
    """Java's options to start a program on Kafka's classes soon."""
    return [*QUICK_START, *from_archive(release.jars)]


@cache
def zookeeper_classpath() -> str:
    """ZooKeeper's jars; skips where they cannot be had."""
    return f"{jars(HERE / 'zookeeper_pom.xml', ZOOKEEPER, 'ZooKeeper')}/*"


def jars(pom: Path, lib: Path, what: str) -> Path:
    """Link the jars that a pom names into `lib`, and all that they need; skips where they cannot be had."""
    _require_java()
    with only_maker(BUILD):
        _resolve(pom, lib, what)
    return lib


def _require_java() -> None:
    require(available=java_version() >= OLDEST_JAVA, what=f"a Java {OLDEST_JAVA}+ development kit")
    require(available=shutil.which("mvn") is not None, what="Maven")


def _resolve(pom: Path, lib: Path, what: str, *options: str) -> None:
    """Link the jars that a pom names, and all that they need, into a directory."""
    stamp = _digest([pom])
    if _is_current(lib, stamp):
        return
    listing = lib.with_name(f"{lib.name}-classpath.txt")
    maven = ["mvn", "-q", "-B", "-f", pom, *options, "dependency:build-classpath", f"-Dmdep.outputFile={listing}"]
    try:
        subprocess.run(maven, capture_output=True, text=True, check=True)
    except subprocess.CalledProcessError as error:
        require(available=False, what=f"{what} from a Maven repository ({_first_line(error)})")
        raise
    _start_over(lib)
    for jar in map(Path, listing.read_text().strip().split(":")):
        (lib / jar.name).symlink_to(jar)
    (lib / ".stamp").write_text(stamp)


def _compile(release: KafkaRelease) -> None:
    """Compile the Java programs, with what is written for this release alone, when one of them changed."""
    named = [HERE / f"{name}.java" for name in release.programs]
    sources = named or sorted([*HERE.glob("*.java"), *(HERE / release.version).glob("*.java")])
    if release == BENCHMARKED:
        sources += sorted(TIMERS.glob("*.java"))
    stamp = _digest([HERE / "pom.xml", *sources])
    if _is_current(release.classes, stamp):
        return
    _start_over(release.classes)
    subprocess.run(["javac", "-nowarn", "-d", release.classes, "-cp", f"{release.jars}/*", *sources], check=True)
    (release.classes / ".stamp").write_text(stamp)


def _is_current(directory: Path, stamp: str) -> bool:
    file = directory / ".stamp"
    return file.exists() and file.read_text() == stamp


def _start_over(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)


def _digest(files: list[Path]) -> str:
    return hashlib.sha256(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()


def _first_line(error: subprocess.CalledProcessError) -> str:
    return (error.stdout or error.stderr or str(error)).strip().split("\n")[0]


class JavaProgram:
    """A running program of this directory: one line in, one line out."""

    def __init__(
        self, release: KafkaRelease, main: str, *arguments: str | Path, heap: str = "512m", measured: bool = False
    ) -> None:
        """Start it: quickly, or `measured`, with the collector and the compiler that a broker runs with."""
        self.release = release
        flags = ["-XX:+UseG1GC", "-Xshare:auto"] if measured else kafka_options(release)
        self._process = subprocess.Popen(
            ["java", *flags, f"-Xmx{heap}", SILENT, "-cp", classpath(release), main, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def ask(self, *lines: str) -> list[str]:
        """Send the lines and return one answer for each."""
        answers: list[str] = []
        for start in range(0, len(lines), WINDOW):
            answers += self._exchange(lines[start : start + WINDOW])
        return answers

    def _exchange(self, lines: tuple[str, ...]) -> list[str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("".join(f"{line}\n" for line in lines))
        self._process.stdin.flush()
        answers = [self._process.stdout.readline() for _ in lines]
        if not all(answers):
            raise EOFError(f"the Java program ended with status {self._process.wait()} on {lines}")
        return [answer.rstrip("\n") for answer in answers]

    def close(self) -> None:
        """End the program by ending its input."""
        with self._process:
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
