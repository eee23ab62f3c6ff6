"""What is wrong with log.dirs before a broker joins with them, and which are offline, as Kafka's brokers have it."""

import shutil
from pathlib import Path
from uuid import uuid4

import pytest

from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.directory_lock import DirectoryLock
from logstore.files.meta_properties import MetaProperties
from logstore.files.partition_metadata import format_uuid, parse_uuid
from replication.cluster.broker.errors import InconsistentDirectoriesError
from replication.cluster.node.joining.formatted_roots import FormattedRoots

NODE = 9


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    """Two that are formatted for one broker."""
    made = [tmp_path / name for name in ("one", "two")]
    for root in made:
        root.mkdir()
        MetaProperties(1, "cluster", NODE, format_uuid(uuid4())).write(root / META_PROPERTIES_NAME)
    return made


def id_of(root: Path) -> str | None:
    return MetaProperties.read(root / META_PROPERTIES_NAME).directory_id


def fail(root: Path) -> None:
    """Let nothing be read there, not even that it holds nothing."""
    shutil.rmtree(root)
    root.write_text("no directory")


def test_whose_they_are_is_known_before_they_are_open(roots: list[Path]) -> None:
    seen = FormattedRoots(roots, NODE, roots[0])
    assert (seen.faults, seen.offline) == ((), {})
    assert (seen.identity.cluster_id, seen.identity.broker_id) == ("cluster", NODE)
    assert list(map(format_uuid, seen.identity.directory_ids)) == [id_of(root) for root in roots]
    assert seen.ids(roots[1:]) == (parse_uuid(id_of(roots[1]) or ""),)


def test_one_that_fails_is_offline_where_another_is_left(roots: list[Path]) -> None:
    fail(roots[1])
    seen = FormattedRoots(roots, NODE, roots[0])
    assert (seen.faults, list(seen.offline)) == ((), [roots[1]])
    assert len(seen.identity.directory_ids) == 1
    assert seen.ids(roots[1:]) == ()


@pytest.mark.parametrize("emptied", [True, False], ids=["empty", "missing"])
def test_one_that_has_nothing_is_a_fault_as_its_disk_may_not_be_mounted(roots: list[Path], emptied: bool) -> None:
    shutil.rmtree(roots[1])
    if emptied:
        roots[1].mkdir()
    seen = FormattedRoots(roots, NODE, roots[0])
    (fault,) = seen.faults
    assert "two: it has no meta.properties" in fault
    with pytest.raises(InconsistentDirectoriesError, match="two: it has no meta"):
        _ = seen.identity


def test_that_of_the_metadata_must_not_fail(roots: list[Path], tmp_path: Path) -> None:
    fail(roots[0])
    assert len(FormattedRoots(roots, NODE, roots[0]).faults) == 1
    assert FormattedRoots(roots, NODE, roots[1]).faults == ()
    assert len(FormattedRoots(roots, NODE, tmp_path / "apart").faults) == 1


def test_where_nothing_can_be_written_is_found_before_anything_is(
    roots: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, _: path != roots[1])
    seen = FormattedRoots(roots, NODE, roots[0])
    assert (seen.faults, list(seen.offline)) == ((), [roots[1]])
    (fault,) = FormattedRoots(roots, NODE, roots[1]).faults
    assert fault.startswith(
        f"{roots[1]} is to hold the metadata, and cannot be used: this user may not write there; check"
    )


def test_some_must_be_left_beside_that_of_the_metadata(roots: list[Path]) -> None:
    fail(roots[0])
    (fault,) = FormattedRoots(roots[:1], NODE, roots[1]).faults
    assert str(roots[0]) in fault


def test_one_that_is_locked_is_a_fault(roots: list[Path]) -> None:
    with DirectoryLock.acquire(roots[1]):
        (fault,) = FormattedRoots(roots, NODE, roots[0]).faults
    assert "locked" in fault


def test_all_that_is_wrong_is_said_at_once(roots: list[Path], tmp_path: Path) -> None:
    named = [*roots, tmp_path / "one" / ".." / "two", tmp_path / "new"]
    twice, new, copy, other_node = FormattedRoots(named, 8, roots[0]).faults
    assert "named 2 times" in twice
    assert "new: it has no meta.properties" in new
    assert "same directory.id" in copy
    assert "node 9's" in other_node
