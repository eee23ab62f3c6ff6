"""Make the directories of old brokers that ship: as a crash left each, and as the same release recovered it.

python -m tests.data.make_old_brokers OUT [VERSION...]

writes OUT/VERSION.tar.xz for each release: `killed`, the broker's log.dirs as SIGKILL left it, `recovered`, the same
after the release was started on it and stopped in order, and `truth.json`, what its consumer then read. Needs Java and
Maven; takes about a minute for each.
"""

import itertools
import json
import random
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from confluent_kafka.admin import AdminClient, NewTopic

from tests.oracle.broker import free_port
from tests.oracle.java import QUICK_START
from tests.oracle.zookeeper import ZooKeeperServer

HERE = Path(__file__).parent / "old-brokers"
BUILD = Path(__file__).parents[2] / "build/old-brokers"
RELEASES = ("0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1", "2.0.1")
CODECS = ("none", "gzip", "snappy", "lz4")
FORMATS = ("0.9.0", "0.10.2", "0.11.0")
"""`message.format.version` of magic 0, 1 and 2."""
FIRST_TIME = 1_500_000_000_000
WAIT_SECONDS = 120
SESSION_SECONDS = 4
SMALL = {"segment.bytes": "2500", "index.interval.bytes": "400", "segment.index.bytes": "240"}
COMPACTED = {"segment.bytes": "1200", "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
OPENED = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ("java.nio", "sun.nio.ch", "java.lang")]
"""What brokers of those days reach into, and a newer Java closes."""

Row: TypeAlias = tuple[str, str, int, str, str]


class OldBroker:
    """A broker of an old release, registered in ZooKeeper, and the tools and clients of its release."""

    def __init__(self, version: str, work: Path, zookeeper: str) -> None:
        self.version = version
        self.root = work / "logs"
        self.address = f"127.0.0.1:{free_port()}"
        self.zookeeper = zookeeper
        self._output = work / "broker.out"
        self._properties = work / "broker.properties"
        self._classpath = _classpath(version)
        self._properties.write_text(
            f"broker.id=1\nlisteners=PLAINTEXT://{self.address}\nlog.dirs={self.root}\nzookeeper.connect={zookeeper}\n"
            f"zookeeper.session.timeout.ms={1000 * SESSION_SECONDS}\n"
            "log.retention.ms=-1\nlog.index.size.max.bytes=4096\nlog.cleaner.backoff.ms=500\n"
            "log.flush.offset.checkpoint.interval.ms=1000\nlog.cleaner.dedupe.buffer.size=2097152\n"
            "offsets.topic.num.partitions=1\noffsets.topic.replication.factor=1\n"
            "transaction.state.log.num.partitions=1\ntransaction.state.log.replication.factor=1\n"
            "transaction.state.log.min.isr=1\ntransaction.state.log.segment.bytes=65536\n"
            "auto.create.topics.enable=false\nlog.cleaner.min.cleanable.ratio=0.01\n"
        )

    def start(self) -> None:
        with open(self._output, "ab") as output:
            self._process = subprocess.Popen(
                self._java("kafka.Kafka", self._properties), stdout=output, stderr=subprocess.STDOUT
            )
        _wait(self._answers, f"{self.version} did not start")

    def end(self, number: signal.Signals) -> None:
        self._process.send_signal(number)
        self._process.wait(WAIT_SECONDS)

    def run(self, main: str, *arguments: object, told: str = "") -> list[list[str]]:
        """Run a program of the release, and return the fields of each line that it prints."""
        done = subprocess.run(
            self._java(main, *arguments), input=told, capture_output=True, text=True, timeout=WAIT_SECONDS, check=True
        )
        return [line.split("\t") for line in done.stdout.splitlines()]

    def _java(self, main: str, *arguments: object) -> list[str]:
        settings = f"-Dlog4j.configuration=file:{HERE}/log4j.properties"
        options = [*QUICK_START, *OPENED, "-Xmx512m", settings, "-cp", self._classpath]
        return ["java", *options, main, *map(str, arguments)]

    def _answers(self) -> bool:
        if self._process.poll() is not None:
            raise OSError(f"{self.version} ended: {self._output.read_text()[-2_000:]}")
        host, port = self.address.split(":")
        try:
            socket.create_connection((host, int(port)), 1).close()
        except OSError:
            return False
        return True


def make(version: str, out: Path) -> None:
    """Write the archive of a release."""
    with tempfile.TemporaryDirectory(prefix="epochlog-old-") as work, ZooKeeperServer(Path(work)) as zookeeper:
        broker = OldBroker(version, Path(work), zookeeper.address)
        broker.start()
        try:
            acknowledged = _fill(broker)
        finally:
            broker.end(signal.SIGKILL)
        made = Path(work) / "made"
        shutil.copytree(broker.root, made / "killed")
        time.sleep(6 * SESSION_SECONDS)  # until ZooKeeper takes the broker for dead
        broker.start()
        try:
            read = broker.run("OldClient", "consume", broker.address, *_topics(broker))
        finally:
            broker.end(signal.SIGTERM)
        shutil.copytree(broker.root, made / "recovered")
        truth = {"version": version, "acknowledged": _ends(acknowledged), "records": _by_topic(read)}
        (made / "truth.json").write_text(json.dumps(truth, indent=1, sort_keys=True))
        pack(made, out / f"{version}.tar.xz")


def _fill(broker: OldBroker) -> list[list[str]]:
    """Let the broker write all that its release can, and wait until it has compacted; return what it acknowledged."""
    _create(broker)
    plain = [topic for topic in _topics(broker) if "upgraded" not in topic and topic != "transactions"]
    acknowledged = _produce(broker, list(itertools.chain.from_iterable(_rows(topic) for topic in plain)))
    for number, version in enumerate(_formats(broker)):
        for topic in ("upgraded", "compacted-upgraded"):
            _set(broker, topic, f"message.format.version={version}")
        rows = [*_rows("upgraded", number), *_rows("compacted-upgraded", number)]
        acknowledged += _produce(broker, rows)
    if broker.version != "0.10.2.2":
        broker.run("OldTransactions", broker.address, "transactions", "lz4", 7, FIRST_TIME)
    broker.run("OldClient", "consume", broker.address, "upgraded")
    compacted = [topic for topic in _topics(broker) if topic.startswith("compacted")]
    _wait(lambda: all(_is_clean(broker.root, topic) for topic in compacted), "the cleaner has not run")
    return acknowledged


def _topics(broker: OldBroker) -> list[str]:
    magics = range(len(_formats(broker)))
    kinds = [f"{kind}magic{magic}-{codec}" for kind in ("", "compacted-") for magic in magics for codec in CODECS]
    times = [f"append-time-magic{magic}" for magic in magics if magic]
    transactions = [] if broker.version == "0.10.2.2" else ["transactions"]
    return [*kinds, *times, "upgraded", "compacted-upgraded", *transactions]


def _formats(broker: OldBroker) -> tuple[str, ...]:
    return FORMATS[:2] if broker.version.startswith("0.10.") else FORMATS


def _create(broker: OldBroker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.address})
    _wait(lambda: admin.list_topics(timeout=WAIT_SECONDS).controller_id == 1, "no controller")
    topics = [NewTopic(topic, 1, 1, config=_config(broker, topic)) for topic in _topics(broker)]
    for future in admin.create_topics(topics, operation_timeout=60).values():
        future.result(60)


def _config(broker: OldBroker, topic: str) -> dict[str, str]:
    config = dict(SMALL)
    if topic.startswith("compacted"):
        config |= COMPACTED
    if topic.startswith("append-time"):
        config["message.timestamp.type"] = "LogAppendTime"
    magic = topic.find("magic")
    version = _formats(broker)[-1] if magic < 0 else FORMATS[int(topic[magic + len("magic")])]
    return config | {"message.format.version": version}


def _set(broker: OldBroker, topic: str, config: str) -> None:
    named = ["--entity-type", "topics", "--entity-name", topic]
    broker.run("kafka.admin.ConfigCommand", "--zookeeper", broker.zookeeper, "--alter", *named, "--add-config", config)
    time.sleep(2)  # the broker is told by ZooKeeper, and answers nothing


def _rows(topic: str, turn: int = 0) -> Iterator[Row | None]:
    """The records of a topic, and None where a batch ends."""
    chance = random.Random(f"{topic} {turn}")
    codec = topic.rpartition("-")[2]
    codec = codec if codec in CODECS else CODECS[turn % 2 + 1]
    for batch in range(16):
        for each in range(chance.randint(1, 6)):
            number = 1000 * turn + 10 * batch + each
            key = f"k{chance.randint(0, 8)}" if "compacted" in topic else chance.choice(["-", f"key {number}"])
            is_deleted = "compacted" in topic and chance.random() < 0.1
            words = " ".join(chance.choice(["red", "green", "blue", "amber"]) for _ in range(chance.randint(0, 20)))
            yield codec, topic, FIRST_TIME + 1000 * number, key, "-" if is_deleted else f"{number} {words}"
        yield None


def _produce(broker: OldBroker, rows: list[Row | None]) -> list[list[str]]:
    lines = ["\t".join(map(str, row)) if row else "" for row in rows]
    return broker.run("OldClient", "produce", broker.address, told="\n".join(lines))


def _is_clean(root: Path, topic: str) -> bool:
    """Whether the cleaner has been through all but the active segment, which a broker of these releases may lack."""
    checkpoint = root / "cleaner-offset-checkpoint"
    cleaned = (
        dict(line.rsplit(" ", 1) for line in checkpoint.read_text().splitlines()[2:]) if checkpoint.exists() else {}
    )
    active = max(int(file.stem) for file in (root / f"{topic}-0").glob("*.log"))
    return int(cleaned.get(f"{topic} 0", -1)) >= active


def _ends(acknowledged: list[list[str]]) -> dict[str, int]:
    ends: dict[str, int] = {}
    for topic, offset, _ in acknowledged:
        ends[topic] = int(offset) + 1
    return ends


def _by_topic(read: list[list[str]]) -> dict[str, list[list[Any]]]:
    records = defaultdict(list)
    for topic, offset, timestamp, *texts in read:
        records[topic].append([int(offset), int(timestamp), *(None if text == "-" else text for text in texts)])
    return records


def pack(made: Path, archive: Path) -> None:
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        for path in sorted(made.rglob("*")):
            tar.add(path, path.relative_to(made), recursive=False, filter=_anonymous)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _classpath(version: str) -> str:
    """The jars of a release, with the clients here compiled against them."""
    lib, classes = BUILD / version / "lib", BUILD / version / "classes"
    maven = ["mvn", "-q", "-B", "-f", HERE / "pom.xml", f"-Dkafka.version={version}"]
    subprocess.run([*maven, "dependency:copy-dependencies", f"-DoutputDirectory={lib}"], check=True)
    sources = [HERE / "OldClient.java", *([] if version == "0.10.2.2" else [HERE / "OldTransactions.java"])]
    subprocess.run(["javac", "-nowarn", "-d", classes, "-cp", f"{lib}/*", *sources], check=True)
    return f"{lib}/*:{classes}"


def _wait(is_so: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(otherwise)
        time.sleep(0.2)


if __name__ == "__main__":
    for each_version in sys.argv[2:] or RELEASES:
        make(each_version, Path(sys.argv[1]))
