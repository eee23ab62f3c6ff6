"""Copies that are taken file by file of a log that is being written: what the audit says of them is never wrong."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from logstore import Log, LogConfig, LogDirectory, Record, TopicPartition
from tests.disk import Unsynced
from tests.replication.copies.audit.one_process import audit_here
from tests.replication.copies.audit.snapshot_roots import META

PARTITION = TopicPartition("t", 0)
RUNS = 20
Files = Callable[[Path], Iterator[Path]]
"""Yields a root's files in the order in which they are copied."""


def by_the_page(root: Path) -> Iterator[Path]:
    """The order of docs/audit.md: first what names offsets of the log, then the log, then who led when."""
    yield from root_files(root)
    yield from sorted((root / str(PARTITION)).iterdir(), key=lambda file: (rank(file), file))


def the_other_way_round(root: Path) -> Iterator[Path]:
    """The log first, and then what knows of more than was copied of it."""
    yield from sorted((root / str(PARTITION)).iterdir(), key=lambda file: (-rank(file), file))
    yield from root_files(root)


def root_files(root: Path) -> list[Path]:
    return [path for path in sorted(root.iterdir()) if path.is_file() and not path.name.startswith(".")]


def rank(file: Path) -> int:
    return 2 if file.name == "leader-epoch-checkpoint" else 1 if file.suffix == ".log" else 0


class Broker:
    """Writes a little whenever it is told to, as its own clock will have it."""

    def __init__(self, directory: LogDirectory, random: random.Random) -> None:
        self.directory = directory
        self.log: Log = directory.create(PARTITION)
        self.random = random
        self.epoch = 0

    def write(self) -> None:
        for _ in range(self.random.randrange(1, 5)):
            self.epoch += self.random.random() < 0.1
            count = self.random.randrange(1, 4)
            self.log.append([Record.of(b"%d" % number * 40) for number in range(count)], leader_epoch=self.epoch)
            if self.random.random() < 0.3:
                self.log.flush()
            self.log.update_high_watermark(self.log.log_end_offset)
            if self.random.random() < 0.3:
                self.directory.checkpoint()
                self.directory.checkpoint_high_watermarks()


def copy_while_written(root: Path, target: Path, broker: Broker, files: Files) -> None:
    """Copy a root's files one after the other; the broker writes in between, and while the last segment is copied."""
    (target / str(PARTITION)).mkdir(parents=True)
    for file in files(root):
        broker.write()
        content = file.read_bytes()
        if file.suffix == ".log" and file == max(file.parent.glob("*.log")):  # whose last batch is just being written
            content = content[: len(content) - broker.random.choice([0, 0, 1, 30, 61])]
        (target / file.relative_to(root)).write_bytes(content)


def audits(tmp_path: Path, files: Files) -> Iterator[tuple[dict[str, Any], set[str]]]:
    """The partition's verdict beside the whole log, and the kinds of warnings and errors about the copy."""
    for seed in range(RUNS):
        root, target = tmp_path / f"{seed}/broker-1", tmp_path / f"{seed}/copy"
        root.mkdir(parents=True)
        (root / "meta.properties").write_text(META.format(cluster="clusterA", node=1))
        config = LogConfig(segment_bytes=4_000, index_interval_bytes=150, retention_ms=-1)
        with LogDirectory.open(root, config, filesystem=Unsynced()) as directory:
            broker = Broker(directory, random.Random(seed))
            for _ in range(10):
                broker.write()
            copy_while_written(root, target, broker, files)
        (target / "meta.properties").write_text(META.format(cluster="clusterA", node=2))
        (partition,), findings = audit_here(root, target)
        worth_it = [finding for finding in findings if finding["severity"] != "info"]
        assert {finding["replica"] for finding in worth_it} <= {"copy"}
        yield partition, {finding["kind"] for finding in worth_it}


def test_in_the_order_of_the_page_a_copy_only_lags_or_ends_in_a_torn_batch(tmp_path: Path) -> None:
    seen: set[str] = set()
    for partition, kinds in audits(tmp_path, by_the_page):
        assert partition["verdict"] == ("damaged" if "torn-batch" in kinds else "lagging")
        assert lost_by_the_copy(partition) == 0
        assert kinds <= {"torn-batch", "epoch-beyond-log-end", "index-missing"}
        seen |= kinds
    assert "torn-batch" in seen


def test_in_the_other_order_files_contradict_each_other_but_no_fork_is_made_up(tmp_path: Path) -> None:
    contradictions = {
        "epoch-entry-missing",
        "epoch-checkpoint-missing",
        "high-watermark-beyond-log-end",
        "index-entry-wrong",
        "index-missing",
        "recovery-point-beyond-log-end",
        "torn-batch",
    }
    seen: set[str] = set()
    for partition, kinds in audits(tmp_path, the_other_way_round):
        assert partition["verdict"] == "damaged"
        assert set(partition["verdicts"]) <= {"damaged", "lagging"}
        assert lost_by_the_copy(partition) == 0
        assert kinds <= contradictions
        seen |= kinds
    assert seen >= {"high-watermark-beyond-log-end", "recovery-point-beyond-log-end", "epoch-entry-missing"}


def lost_by_the_copy(partition: dict[str, Any]) -> int:
    return sum(pair["records_lost"] for pair in partition["pairs"] if pair["follower"] == "copy")
