"""A mirror of a real broker whose connections, and whose own process, are ill-treated on a schedule drawn from a seed.

python -m tests.replication.cluster.mirror.schedule SEED

runs one schedule by itself, and tells it.
"""

import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Self

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from logstore.offline.offline_log_directory import open_offline
from logstore.verify import verify
from tests.logstore.directories import GAPS
from tests.oracle.cluster import KafkaCluster, free_port
from tests.oracle.release import KafkaRelease, releases_of_this_run
from tests.replication.cluster.mirror.log_comparison import WrittenLog, differences
from tests.replication.cluster.mirror.mirror_process import MirrorProcess, wait_until
from tests.replication.cluster.mirror.proxy import Proxy

PARTITIONS = 3


class Stage:
    """One broker that clients reach by two ways: directly, and through a proxy."""

    def __init__(self, directory: Path, release: KafkaRelease) -> None:
        self.directory = directory
        self.release = release
        self._open = ExitStack()

    def __enter__(self) -> Self:
        port = free_port()
        self.proxy = self._open.enter_context(Proxy("127.0.0.1", port))
        self.cluster = KafkaCluster(self.directory / "kafka", self.release, brokers=1)
        direct = f"PLAINTEXT://{self.cluster.bootstrap(1)}"
        self.cluster.settings = {
            "listeners": f"{direct},PROXIED://127.0.0.1:{port}",
            "advertised.listeners": f"{direct},PROXIED://127.0.0.1:{self.proxy.port}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT",
            "log.retention.ms": -1,
        }
        self._open.enter_context(self.cluster)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open.close()

    @property
    def through_proxy(self) -> str:
        return f"127.0.0.1:{self.proxy.port}"

    def create(self, topic: str) -> None:
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap()})
        new = NewTopic(topic, num_partitions=PARTITIONS, replication_factor=1, config={"segment.bytes": "1048576"})
        admin.create_topics([new])[topic].result(60)

    def log(self, topic: str, partition: int) -> Path:
        return self.cluster.log_dir(1) / f"{topic}-{partition}"


class Writer:
    """Produces records of all sizes to all partitions until it is told to stop."""

    def __init__(self, bootstrap: str, topic: str, seed: int) -> None:
        self._random = random.Random(seed)
        self._topic = topic
        codec = self._random.choice(("none", "lz4", "zstd", "snappy", "gzip"))
        settings = {"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 2, "acks": "all"}
        self._producer = Producer(settings | {"batch.size": self._random.choice((500, 16_384, 200_000))})
        self._stopped = Event()
        self._thread = Thread(target=self._write, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._thread.join(60)
        assert self._producer.flush(60) == 0

    def _write(self) -> None:
        while not self._stopped.wait(0.01):
            for _ in range(self._random.randrange(60)):
                value = self._random.randbytes(self._random.choice((10, 200, 3_000)))
                with suppress(BufferError):
                    self._producer.produce(self._topic, value, partition=self._random.randrange(PARTITIONS))
            self._producer.poll(0)


@dataclass(frozen=True)
class Step:
    """After some time, something happens."""

    seconds: float
    name: str
    value: int = 0

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s, {self.name}{f' {self.value:,}' if self.value else ''}"


def draw(seed: int) -> list[Step]:
    """Draw what happens, and when."""
    chosen = random.Random(seed)
    steps = []
    for _ in range(chosen.randrange(4, 9)):
        name = chosen.choice(("kill", "kill", "stop", "cut", "cut", "tear", "tear", "tear", "slow", "refuse"))
        value = {"tear": chosen.choice((1, 3, 7, 60, 1_000, 30_000, 400_000)), "slow": 10 ** chosen.randrange(3, 6)}
        steps.append(Step(chosen.uniform(0.05, 1.2), name, value.get(name, 0)))
    return steps


class Play:
    """One schedule on the stage: a topic, a writer and a mirror of its own."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self.stage = stage
        self.seed = seed
        self.topic = f"schedule-{seed}"
        self.directory = stage.directory / self.topic
        self.directory.mkdir()
        self.mirror = MirrorProcess(stage.through_proxy, (self.topic,), self.directory / "copy")

    def run(self) -> None:
        """Let it all happen, and see that the copy is the broker's log in the end. Raises AssertionError."""
        self.stage.create(self.topic)
        with self.mirror:
            with Writer(self.stage.cluster.bootstrap(), self.topic, self.seed):
                wait_until(lambda: self.mirror.log_dir.exists() or not self.mirror.is_running(), self.mirror.said)
                for step in draw(self.seed):
                    time.sleep(step.seconds)
                    self._do(step)
            self._treat_well()
            wait_until(self._is_caught_up, self._told)
            assert self.mirror.stop() == 0, self.mirror.said()
        self._check()

    def _do(self, step: Step) -> None:
        # Only one connection's ill treatment at a time lasts.
        self._treat_well()
        proxy = self.stage.proxy
        actions: dict[str, Callable[[], object]] = {
            "kill": self.mirror.kill,
            "stop": self.mirror.stop,
            "cut": proxy.cut,
            "tear": lambda: proxy.tear(step.value),
            "slow": lambda: proxy.slow(step.value),
            "refuse": self._refuse,
        }
        actions[step.name]()

    def _refuse(self) -> None:
        self.stage.proxy.refuse(refuses=True)
        self.stage.proxy.cut()

    def _treat_well(self) -> None:
        self.stage.proxy.slow(None)
        self.stage.proxy.refuse(refuses=False)
        if not self.mirror.is_running():
            # It has also ended where it began just while nobody could be reached.
            self.mirror.start()

    def _is_caught_up(self) -> bool:
        if not self.mirror.is_running():
            self.mirror.start()
        for partition in range(PARTITIONS):
            copy, leader = self.mirror.log_dir / f"{self.topic}-{partition}", self.stage.log(self.topic, partition)
            if not (copy / "leader-epoch-checkpoint").exists():
                return False
            if WrittenLog.read(copy).end != WrittenLog.read(leader).end:
                return False
        return True

    def _check(self) -> None:
        for partition in range(PARTITIONS):
            leader = self.stage.log(self.topic, partition)
            assert differences(self.mirror.log_dir / leader.name, leader) == []
        found = verify(open_offline(self.mirror.log_dir), records=True)
        assert [each for each in found if each.severity.needs_attention and each.kind not in GAPS] == []
        assert self.mirror.events("truncated") == [], "a leader that never lost anything"
        assert self.mirror.events("failed") == []

    def _told(self) -> str:
        return f"the copy is the broker's log; the mirror said: {self.mirror.said()}"


def run(stage: Stage, seed: int) -> None:
    """Run one schedule; a failure names the command that repeats it."""
    try:
        Play(stage, seed).run()
    except (AssertionError, TimeoutError) as error:
        steps = "; ".join(map(str, draw(seed)))
        raise AssertionError(
            f"repeat it with: KAFKA_VERSION={stage.release.version} "
            f".venv/bin/python -m tests.replication.cluster.mirror.schedule {seed}\n{steps}\n{error}"
        ) from error


if __name__ == "__main__":
    for told in draw(int(sys.argv[1])):
        print(told)  # noqa: T201  a program
    for each in releases_of_this_run():
        with tempfile.TemporaryDirectory(prefix="epochlog-schedule-") as work, Stage(Path(work), each) as only:
            run(only, int(sys.argv[1]))
