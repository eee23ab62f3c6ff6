"""Whatever is public shows what it is, in a line."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import epoch
import logstore
import replication
from logstore import (
    BatchTemplate,
    DirectoryLock,
    LogConfig,
    LogDirectories,
    LogDirectory,
    LogFile,
    OffsetIndex,
    PartitionDirectory,
    RecoveredLog,
    TimeIndex,
    TopicPartition,
    TransactionIndex,
    open_offline,
)

MOST = 200
PACKAGES = (epoch, logstore, replication)
CLASSES = [
    (f"{package.__name__}.{name}", value)
    for package in PACKAGES
    for name in sorted(package.__all__)
    if inspect.isclass(value := getattr(package, name))
]


@pytest.mark.parametrize(("name", "public"), CLASSES, ids=[name for name, _ in CLASSES])
def test_no_public_class_shows_only_its_address(name: str, public: type) -> None:
    assert public.__repr__ is not object.__repr__, name


def instances(tmp_path: Path) -> Iterator[Any]:
    """Values of a log with many segments, batches, epochs and producers."""
    with LogDirectory.open(tmp_path / "root", LogConfig(segment_bytes=2_000, index_interval_bytes=100)) as directory:
        log = directory.create(TopicPartition("orders", 0))
        producer = log.producer()
        for number in range(60):
            log.append([b"value" * 9] * 3, leader_epoch=number)
            producer.append([b"x"], leader_epoch=number)
            log.producer().append([b"y"], leader_epoch=number)
        yield from (directory, log, producer, log.epochs, log.epochs.history, log.config, log.report)
        yield log._contents.producers
        yield log._contents.producers.snapshot()
        view = log.read(0, 1 << 20)
        yield view
        yield next(iter(view.batches()))
        yield next(iter(view.records()))
        yield log.backup(tmp_path / "orders-0")
        path = log.segments[0].path
        yield LogDirectories([directory], {})
    yield DirectoryLock(path)
    yield BatchTemplate(producer_id=7)
    with LogFile.open(path) as file:
        yield file
        yield from file.scan()
    yield OffsetIndex.read(path.with_suffix(".index"), 0)
    yield TimeIndex.read(path.with_suffix(".timeindex"), 0)
    yield TransactionIndex((), 0)
    yield open_offline(tmp_path / "root")
    yield (partition := open_offline(tmp_path / "orders-0"))
    assert isinstance(partition, PartitionDirectory)
    yield RecoveredLog.load(partition)


def test_values_of_any_size_show_themselves_in_a_line(tmp_path: Path) -> None:
    for value in instances(tmp_path):
        shown = repr(value).replace(str(tmp_path), "")
        assert type(value).__name__ in shown
        assert len(shown) <= MOST, shown
        assert " object at 0x" not in shown
        assert "\n" not in shown


def test_a_configuration_shows_what_is_not_the_default() -> None:
    assert repr(LogConfig()) == "LogConfig()"
    assert repr(LogConfig(segment_bytes=1_000)) == "LogConfig(segment_bytes=1000)"
    assert eval(repr(LogConfig(flush_ms=5)), {"LogConfig": LogConfig}) == LogConfig(flush_ms=5)  # noqa: S307  our own
