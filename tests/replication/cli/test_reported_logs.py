"""Logs that public reports of Kafka and of its clients describe: what is said of each, and what is read of it."""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import cramjam
import pytest
from typer.testing import CliRunner

from logstore.batch.compression.codec import Codec, compress
from replication.cli.main import app
from tests.logstore.batch.test_legacy_batch import GZIP, message
from tests.logstore.batches import batch, record
from tests.replication.copies.audit.spark.source.planned import WHATEVER_IS_THERE, Planned

NAME: Final = "t-0"
META: Final = "version=0\ncluster.id=clusterA\nbroker.id=1\n"
"""Of ZooKeeper's time, when a log needs no topic id."""


class Reported(NamedTuple):
    """What a log looks like, and what is true of it."""

    files: dict[str, bytes]
    end: int
    starts: dict[int, int]
    """Where each leader epoch starts."""
    counts: dict[str, int]
    """What `explain` says of the offsets."""
    rows: int
    """Of records, in Spark's tables."""
    damage: int = 0
    warnings: frozenset[str] = frozenset()
    log_start: int | None = None


def file(base: int, kind: str = "log") -> str:
    return f"{base:020d}.{kind}"


def several(base: int, count: int = 10, **fields: Any) -> bytes:
    return batch(base_offset=base, records=[record(offset_delta=each, value=b"v") for each in range(count)], **fields)


def wrapper(last: int, magic: int, inner: bytes) -> bytes:
    return message(last, bytes(cramjam.gzip.compress(inner)), magic=magic, attributes=GZIP)


def inner(first: int, magic: int = 1, count: int = 5) -> bytes:
    return b"".join(message(first + each, b"v", magic=magic) for each in range(count))


def of_an_early_client() -> Reported:
    """IBM/sarama#1026, KAFKA-6554: a last offset delta of 0 whatever the number of records, base sequence 0."""
    early = [
        several(5, 3, last_offset_delta=0, base_sequence=0),
        several(6, 1, last_offset_delta=0, base_sequence=0),
        several(7, 2, last_offset_delta=0, base_sequence=0),
    ]
    data = b"".join([several(0, 5), *early, several(8, 4)])
    warnings = frozenset({"batch-header-wrong", "record-offset-wrong"})
    return Reported({file(0): data}, 12, {0: 0}, {"delivered": 12}, 15, warnings=warnings)


def of_wrappers_of_another_magic() -> Reported:
    """KAFKA-4298: the cleaner of 0.10.0 put messages of magic 0 into wrappers of magic 1; Kafka reads them all."""
    wrappers = [
        wrapper(4, 1, inner(0)),
        wrapper(9, 1, inner(0, 0)),
        wrapper(14, 1, inner(10, 0)),
        wrapper(19, 0, inner(15)),
    ]
    return Reported({file(0): b"".join(wrappers)}, 20, {}, {"delivered": 20}, 20)


def of_a_set_that_is_compressed_twice() -> Reported:
    """dpkp/kafka-python#755: no consumer of Java's reads it."""
    data = b"".join([wrapper(4, 1, inner(0)), wrapper(9, 1, wrapper(4, 1, inner(0))), wrapper(14, 1, inner(0))])
    return Reported({file(0): data}, 15, {}, {"delivered": 10, "unreadable": 5}, 11, damage=1)


def of_a_wrapper_that_nobody_can_decompress() -> Reported:
    """Nothing of it was compacted, and what is behind it is read."""
    torn = message(14, b"this is no gzip", attributes=GZIP)
    data = b"".join([wrapper(4, 1, inner(0)), wrapper(9, 1, inner(0)), torn, wrapper(19, 1, inner(0))])
    return Reported({file(0): data}, 20, {}, {"delivered": 15, "unreadable": 5}, 16, damage=1)


def of_times_before_1970() -> Reported:
    """Kafka takes them from producers, whose batches then have no largest one."""
    data = several(0) + several(10, base_timestamp=-1_000, max_timestamp=-1)
    return Reported({file(0): data}, 20, {0: 0}, {"delivered": 20}, 20)


def of_an_index_of_first_offsets() -> Reported:
    """KAFKA-7487: up to 1.1 an entry had the first offset of what was appended."""
    batches = [several(10 * each) for each in range(60)]
    sizes = [len(each) for each in batches]
    entries = [(10 * each, sum(sizes[:each])) for each in range(10, 60, 10)]
    files = {
        file(0): b"".join(batches),
        file(0, "index"): b"".join(struct.pack(">ii", *entry) for entry in entries),
        file(600): several(600),
    }
    return Reported(files, 610, {0: 0}, {"delivered": 610}, 610)


def of_a_log_with_remote_storage() -> Reported:
    """KAFKA-15351: it starts at 0, its first segment at 50: nothing tells whether what is between is lost."""
    data = several(50, leader_epoch=2) + several(60, leader_epoch=3)
    counts = {"delivered": 20, "in-remote-storage": 50}
    return Reported({file(50): data}, 70, {0: 0, 1: 20, 2: 40, 3: 60}, counts, 20, log_start=0)


def of_a_batch_that_is_much_more_than_its_bytes() -> Reported:
    """A stock producer with zstd makes such of records that are alike."""
    lines = [bytes(range(number, number + 200)) * 25 for number in range(7)]
    section = b"".join(record(offset_delta=each, value=lines[each % 7]) for each in range(20_000))
    large = batch(
        section=compress(Codec.ZSTD, section),
        attributes=int(Codec.ZSTD),
        record_count=20_000,
        last_offset_delta=19_999,
    )
    return Reported({file(0): large + several(20_000)}, 20_010, {0: 0}, {"delivered": 20_010}, 20_010)


REPORTS: Final[dict[str, Callable[[], Reported]]] = {
    made.__name__.removeprefix("of_").replace("_", " "): made
    for made in (
        of_an_early_client,
        of_wrappers_of_another_magic,
        of_a_set_that_is_compressed_twice,
        of_a_wrapper_that_nobody_can_decompress,
        of_times_before_1970,
        of_an_index_of_first_offsets,
        of_a_log_with_remote_storage,
        of_a_batch_that_is_much_more_than_its_bytes,
    )
}


def written(root: Path, reported: Reported) -> Path:
    directory = root / NAME
    directory.mkdir(parents=True)
    indexes = {name.replace(".log", f".{kind}"): b"" for name in reported.files for kind in ("index", "timeindex")}
    for name, data in (indexes | reported.files).items():
        (directory / name).write_bytes(data)
    starts = "".join(f"{epoch} {start}\n" for epoch, start in reported.starts.items())
    (directory / "leader-epoch-checkpoint").write_text(f"0\n{len(reported.starts)}\n{starts}")
    (root / "meta.properties").write_text(META)
    offsets = {"recovery-point": reported.end, "replication": reported.end, "log-start": reported.log_start}
    for name, offset in offsets.items():
        if offset is not None:
            (root / f"{name}-offset-checkpoint").write_text(f"0\n1\nt 0 {offset}\n")
    return root


def document_of(*arguments: object) -> dict[str, Any]:
    done = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.parametrize("name", REPORTS)
def test_what_is_said_of_it_is_true(name: str, tmp_path: Path) -> None:
    reported = REPORTS[name]()
    root = written(tmp_path / "broker-1", reported)

    verified = document_of("verify", root, "--records")
    explained = document_of("explain", NAME, root)
    recovered = document_of("recover", root, "--all", "--dry-run")

    assert (verified["damage"], verified["unreadable"]) == (reported.damage, 0), verified["findings"]
    assert {each["kind"] for each in verified["findings"] if each["severity"] == "warning"} == reported.warnings
    assert explained["counts"] == reported.counts
    assert (explained["log_end_offset"], explained["damage"]) == (reported.end, None)
    assert [each["dropped_bytes"] for each in recovered["partitions"]] == [0]
    assert len(Planned(root, **WHATEVER_IS_THERE).rows()) == reported.rows


@pytest.mark.parametrize("name", REPORTS)
def test_its_files_stay_as_they_are_where_it_is_recovered(name: str, tmp_path: Path) -> None:
    reported = REPORTS[name]()
    root = written(tmp_path / "broker-1", reported)
    document_of("recover", root, "--all", "--output", tmp_path / "recovered")

    for each, data in reported.files.items():
        if each.endswith(".log"):
            assert (tmp_path / "recovered" / NAME / each).read_bytes() == data
    kept = [f"{NAME}/leader-epoch-checkpoint"]
    kept += [] if reported.log_start is None else ["log-start-offset-checkpoint"]
    for each in kept:
        assert (tmp_path / "recovered" / each).read_text() == (root / each).read_text()
