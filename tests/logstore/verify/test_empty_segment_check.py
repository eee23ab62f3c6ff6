"""A segment without a byte is damage where another file knows of records in it."""

import struct
from pathlib import Path

import pytest

from epoch.checkpoint import format_checkpoint
from logstore.files.producer_snapshot import ProducerSnapshot, ProducerStateEntry
from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify import Finding, Severity, verify_partition
from tests.logstore.batches import simple_batch

EMPTY, NEXT = 10, 15
EVIDENCE = {
    f"{EMPTY:020d}.index": struct.pack(">ii", 3, 80),
    f"{EMPTY:020d}.timeindex": struct.pack(">qi", 1_000, 3),
    f"{EMPTY:020d}.txnindex": struct.pack(">hqqqq", 0, 7, 11, 12, 13),
    f"{NEXT:020d}.snapshot": ProducerSnapshot((ProducerStateEntry(7, 0, 3, 12, 0, 1_000, 0, -1),)).encode(),
    "leader-epoch-checkpoint": format_checkpoint([(0, 0), (1, 12), (2, 15)]),
}


def judged(root: Path, *, name: str = "t-0", indexes: bool = True, **files: bytes) -> list[tuple[Severity, str]]:
    directory = root / name
    directory.mkdir(parents=True)
    for base, content in ((0, simple_batch(0, [b""] * 10)), (EMPTY, b""), (NEXT, simple_batch(NEXT, leader_epoch=2))):
        (directory / f"{base:020d}.log").write_bytes(content)
        for suffix in (".index", ".timeindex") if indexes else ():
            (directory / f"{base:020d}{suffix}").touch()
    (directory / "leader-epoch-checkpoint").write_bytes(format_checkpoint([(0, 0), (2, 15)]))
    for file, content in files.items():
        (directory / file).write_bytes(content)
    findings: list[Finding] = list(verify_partition(PartitionDirectory.open(directory)))
    assert "offset-gap" not in [each.kind for each in findings]
    assert "missing-segment" not in [each.kind for each in findings]
    empty = [each for each in findings if each.kind == "empty-segment"]
    assert all((each.file, each.position, each.offset) == (f"{EMPTY:020d}.log", 0, EMPTY) for each in empty)
    return [(each.severity, each.message) for each in empty]


@pytest.mark.parametrize("name", EVIDENCE)
def test_it_is_damage_where_another_file_knows_of_records_in_it(name: str, tmp_path: Path) -> None:
    ((severity, message),) = judged(tmp_path, **{name: EVIDENCE[name]})
    assert severity is Severity.ERROR
    assert "lost" in message


def test_a_truncation_inside_its_only_batch_leaves_it_so(tmp_path: Path) -> None:
    ((severity, message),) = judged(tmp_path)
    assert severity is Severity.INFO
    assert "truncation" in message


def test_without_indexes_nothing_tells(tmp_path: Path) -> None:
    ((severity, _),) = judged(tmp_path, indexes=False)
    assert severity is Severity.WARNING


def test_the_cleaner_leaves_empty_segments(tmp_path: Path) -> None:
    assert judged(tmp_path, name="__consumer_offsets-0") == []
