"""A partition's directory that was taken out of its root, whose files would tell how far the cleaner has got."""

import shutil
from pathlib import Path

import pytest

from logstore.verify import Severity
from tests.data.replicas import replicas
from tests.logstore.batches import batch, record
from tests.logstore.verify.logs import findings, kinds, write_log


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    return shutil.copytree(replicas("reconciled-4.4.0") / "broker-1/compacted-0", tmp_path / "compacted-0")


def keyed(base_offset: int, key: bytes | None = b"k") -> bytes:
    return batch(records=[record(key=key)], base_offset=base_offset)


def test_a_compacted_one_gets_one_note_of_what_would_tell(alone: Path) -> None:
    [found] = findings(alone, records=True)
    assert (found.kind, found.severity, found.offset) == ("compaction-unknown", Severity.WARNING, 0)
    assert "cleaner-offset-checkpoint" in found.message


def test_what_the_note_asks_for_answers_it(alone: Path) -> None:
    shutil.copy(replicas("reconciled-4.4.0") / "broker-1/cleaner-offset-checkpoint", alone.parent)
    assert findings(alone, records=True) == []


def test_holes_of_all_kinds_are_one_note(tmp_path: Path) -> None:
    directory = write_log(tmp_path, {0: [keyed(3), keyed(5), keyed(9)], 20: [keyed(20)], 40: [keyed(45)]})
    [found] = findings(directory)
    assert (found.kind, found.offset) == ("compaction-unknown", 0)
    assert "4 more places" in found.message


def test_what_has_no_keys_was_not_compacted(tmp_path: Path) -> None:
    assert kinds(write_log(tmp_path, {0: [keyed(0, None), keyed(5)]})) == ["offset-gap"]
    assert kinds(write_log(tmp_path, {0: [keyed(0), keyed(5, None)]}, name="u-0")) == ["offset-gap"]


def test_holes_in_a_root_are_damage(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    assert "offset-gap" in kinds(write_log(tmp_path, {0: [keyed(0), keyed(5)]}))
