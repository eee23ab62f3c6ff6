"""A golden set of replicas, served, and what it holds: by the logs that are served, and by what `dump` prints."""

import json
import subprocess
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from logstore import Isolation, TopicPartition
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.serving.cluster_server import ClusterServer
from replication.cluster.serving.frozen_cluster import FrozenCluster
from replication.wire.addresses import Address
from replication.wire.server.connections.listener_settings import ListenerSettings
from tests.data.replicas import replicas
from tests.replication.cli.served import everything
from tests.replication.cluster.serving.clients import Seen

ISOLATION = {True: Isolation.READ_COMMITTED, False: Isolation.HIGH_WATERMARK}


@dataclass
class Dumped:
    """What `dump` prints of a partition from its log start offset on, in the order of offsets."""

    records: list[tuple[int, int]] = field(default_factory=list)
    """Offset and time stamp of each, those of transactions' markers too."""
    epochs: list[tuple[int, int]] = field(default_factory=list)
    """Each leader epoch of a batch, and the first offset of it."""
    end: int = 0
    """The offset after the last one."""

    def first_since(self, time: int) -> int | None:
        """The first offset whose time stamp is not earlier."""
        return next((offset for offset, timestamp in self.records if timestamp >= time), None)

    def end_of(self, epoch: int) -> int:
        """Where the records of an epoch and of those before it end."""
        later = bisect_right(self.epochs, epoch, key=lambda each: each[0])
        return self.epochs[later][1] if later < len(self.epochs) else self.end

    def positions(self) -> list[tuple[int, int, int]]:
        """Each epoch, the first offset of it and its end."""
        return [(epoch, start, self.end_of(epoch)) for epoch, start in self.epochs]


class Served:
    """Copies of a golden set's brokers, on the network."""

    def __init__(self, label: str, cluster: FrozenCluster, server: ClusterServer) -> None:
        """Look at what is served."""
        self.label = label
        self.cluster = cluster
        self.bootstrap = server.bootstrap
        self.port = min(each.port for each in server.addresses.values())
        self.hosted = [cluster.hosted[broker.node_id] for broker in cluster.brokers]

    @classmethod
    @contextmanager
    def open(
        cls, label: str, paths: Sequence[Path] = (), *, port: int = 0, saved_groups: bool = False
    ) -> Iterator[Self]:
        """Serve all brokers of a set, or these directories, on a port and those after it."""
        listener = ListenerSettings(address=Address("127.0.0.1", port))
        served = paths or brokers(label)
        before = [everything(path) for path in served]
        with (
            FrozenCluster.open(served) as cluster,
            ClusterServer(cluster, listener, saved_groups=saved_groups) as server,
        ):
            yield cls(label, cluster, server)
        assert [everything(path) for path in served] == before, "a file or its times are not what they were"

    @property
    def partitions(self) -> list[TopicPartition]:
        """Those that are not Kafka's own."""
        return sorted(key for key in self.hosted[0] if not key.topic.startswith("__"))

    @property
    def topics(self) -> dict[str, list[TopicPartition]]:
        """The same by topic."""
        found = defaultdict(list)
        for each in self.partitions:
            found[each.topic].append(each)
        return dict(found)

    def leaders(self, partition: TopicPartition) -> HostedPartition:
        """The copy that leads."""
        (found,) = [held[partition] for held in self.hosted if partition in held and held[partition].is_leader]
        return found

    def truth(self, partition: TopicPartition, committed: bool) -> list[Seen]:
        """The records of the leader's copy."""
        return [
            Seen(each.offset, each.timestamp, each.key, each.value, tuple(each.headers))
            for each in self.leaders(partition).log.records(isolation=ISOLATION[committed])
        ]

    @cached_property
    def dumped(self) -> dict[TopicPartition, Dumped]:
        """What `dump` prints of the leaders' copies."""
        logs = {self.leaders(each).log.directory: each for each in self.partitions}
        told = {each: Dumped() for each in self.partitions}
        for line in _dump(list(logs)):
            partition = logs[Path(line["file"]).parent]
            _add(told[partition], line, self.leaders(partition).log.log_start_offset)
        return told


def brokers(label: str) -> list[Path]:
    """The directories of a golden set's brokers."""
    return sorted(replicas(label).iterdir())


def _dump(directories: list[Path]) -> Iterator[dict[str, Any]]:
    files = [file for each in directories for file in sorted(each.glob("*.log"))]
    command = [sys.executable, "-m", "replication.cli", "dump", "--records", "--json", *map(str, files)]
    yield from map(json.loads, subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines())


def _add(told: Dumped, line: dict[str, Any], start: int) -> None:
    if line["kind"] == "batch" and line["last_offset"] >= start:
        epoch = line["partition_leader_epoch"]
        if not told.epochs or told.epochs[-1][0] != epoch:
            told.epochs.append((epoch, max(start, line["base_offset"])))
        told.end = line["last_offset"] + 1
    elif "offset" in line and "timestamp" in line and line["offset"] >= start:
        told.records.append((line["offset"], line["timestamp"]))
