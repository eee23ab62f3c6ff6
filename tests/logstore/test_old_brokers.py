"""Directories of brokers 0.10 to 2.0: all records are read, nothing is damage, and they are opened as by Kafka.

The releases wrote every codec and format that they have, compacted, and were killed; each then recovered what it left.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from logstore import FrozenLog, LogDirectory
from logstore.log_config import LogConfig
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.recovery.log_loader import load_log
from logstore.verify import verify
from tests.data.old_brokers import VERSIONS, OldRecord, old_broker, old_records
from tests.logstore.recovery.test_log_loader_against_kafka import (
    asked_indexes,
    epoch_words,
    in_their_words,
    index_words,
)
from tests.oracle.kafka import JavaProgram

SETTINGS = "segmentBytes=2500 indexInterval=400 indexBytes=240"
CONFIG = LogConfig(segment_bytes=2500, index_interval_bytes=400, segment_index_bytes=240)
ROOTS = [(version, state) for version in VERSIONS for state in ("killed", "recovered")]

pytestmark = pytest.mark.parametrize(("version", "state"), ROOTS)


def partitions(version: str, state: str) -> Iterator[Path]:
    root = OfflineLogDirectory.open(old_broker(version, state))
    return (root.path / name for name in root.live_names())


def test_nothing_in_them_is_called_damage_or_strange(version: str, state: str) -> None:
    found = verify(OfflineLogDirectory.open(old_broker(version, state)), records=True)
    assert {each.kind for each in found} <= ({"left-over-deleted"} if state == "killed" else set())


def test_each_record_is_read_that_the_releases_consumer_read(version: str, state: str) -> None:
    expected = old_records(version)
    assert {f"magic{magic}-{codec}-0" for magic in (0, 1) for codec in ("none", "gzip", "snappy", "lz4")} < {*expected}
    for name, records in expected.items():
        with FrozenLog.open(old_broker(version, state) / name) as log:
            read = [OldRecord(each.offset, each.timestamp, each.key, each.value) for each in log.records()]
        assert read == records, name


@pytest.mark.parametrize("is_checked", [False, True], ids=["trusted", "checked"])
def test_they_are_opened_with_the_indexes_that_kafka_leaves(
    log_oracle: JavaProgram, tmp_path: Path, version: str, state: str, *, is_checked: bool
) -> None:
    """Those of recovered segments are made anew, in the format of today; the others stay as the release wrote them."""
    for source in partitions(version, state):
        ours, theirs = tmp_path / f"ours/{source.name}", tmp_path / f"theirs/{source.name}"
        for copy in (ours, theirs):
            shutil.copytree(source, copy)
        with FrozenLog.open(source) as log:
            recovery_point = 0 if is_checked else log.log_end_offset
        loaded = load_log(ours, CONFIG, recovery_point=recovery_point)
        opened, *told, epochs = log_oracle.ask(
            f"open {theirs} {SETTINGS} clean=false recoveryPoint={recovery_point} logStart=0",
            "state",
            "segments",
            "epochs",
        )
        assert opened.startswith("ok"), (source.name, opened)
        assert in_their_words(loaded) == told, source.name
        assert epoch_words(loaded) == epochs, source.name
        assert index_words(loaded) == asked_indexes(log_oracle, loaded), source.name
        log_oracle.ask("close")
        for segment in loaded.segments:
            segment.close()
        for path in theirs.glob("*.*index"):
            assert (ours / path.name).read_bytes() == path.read_bytes(), (source.name, path.name)


def test_what_is_recovered_has_the_logs_that_the_release_left(tmp_path: Path, version: str, state: str) -> None:
    root = tmp_path / "root"
    shutil.copytree(old_broker(version, state), root)
    with LogDirectory.open(root, CONFIG, replicated=True) as opened:
        assert not opened.unreadable
        ends = {str(partition): log.log_end_offset for partition, log in opened.partitions.items()}
    recovered = OfflineLogDirectory.open(old_broker(version, "recovered"))
    assert {*ends} == {*recovered.live_names()}
    for name in ends:
        if not name.startswith("__"):  # a group committed after the restart
            logs = {path.name: path.read_bytes() for path in (root / name).glob("*.log")}
            assert logs == {path.name: path.read_bytes() for path in (recovered.path / name).glob("*.log")}, name
    assert not {each.severity for each in verify(OfflineLogDirectory.open(root), records=True)}
