"""Directories become a broker's."""

from pathlib import Path

import pytest

from logstore.errors import CorruptMetadataError, DirectoryLockedError
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.directory_lock import DirectoryLock
from logstore.files.meta_properties import MetaProperties
from replication.cluster.standalone.errors import NotFormattedError, OtherNodeError
from replication.cluster.standalone.formatting import ensure_formatted


def properties(root: Path) -> MetaProperties:
    return MetaProperties.read(root / META_PROPERTIES_NAME)


def test_new_directories_get_one_cluster_and_each_an_id(tmp_path: Path) -> None:
    roots = [tmp_path / "one", tmp_path / "two"]
    roots[1].mkdir()
    assert ensure_formatted(roots, 7) == roots
    one, two = map(properties, roots)
    assert (one.node_id, one.cluster_id) == (two.node_id, two.cluster_id) == (7, one.cluster_id)
    assert one.directory_id != two.directory_id


def test_a_new_directory_joins_the_broker_of_the_others(tmp_path: Path) -> None:
    ensure_formatted([tmp_path / "one"], 7)
    assert ensure_formatted([tmp_path / "one", tmp_path / "two"]) == [tmp_path / "two"]
    assert properties(tmp_path / "two").node_id == 7
    assert properties(tmp_path / "two").cluster_id == properties(tmp_path / "one").cluster_id


def test_what_is_formatted_stays_as_it_is(tmp_path: Path) -> None:
    ensure_formatted([tmp_path], 7)
    before = (tmp_path / META_PROPERTIES_NAME).read_bytes()
    assert ensure_formatted([tmp_path]) == []
    assert ensure_formatted([tmp_path], 7) == []
    with pytest.raises(OtherNodeError, match=r"is broker 7's by its meta\.properties, and node\.id is 8"):
        ensure_formatted([tmp_path, tmp_path / "new"], 8)
    assert (tmp_path / META_PROPERTIES_NAME).read_bytes() == before
    assert not (tmp_path / "new").exists()


def test_a_directory_with_something_else_in_it_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "letter.txt").write_text("dear")
    with pytest.raises(NotFormattedError, match=r"two is not empty and has no meta\.properties"):
        ensure_formatted([tmp_path / "one", tmp_path / "two"], 7)
    assert not (tmp_path / "one").exists()


@pytest.mark.parametrize(
    ("node_id", "cluster_id"), [(1 << 31, None), (-1, None), (7, "not a cluster"), (7, "☃"), (7, "é")]
)
def test_a_broker_or_a_cluster_that_cannot_be_is_refused_before_anything_is_made(
    tmp_path: Path, node_id: int, cluster_id: str | None
) -> None:
    with pytest.raises(CorruptMetadataError):
        ensure_formatted([tmp_path / "new"], node_id, cluster_id)
    assert not (tmp_path / "new").exists()


def test_of_two_first_starts_at_once_one_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    roots = [tmp_path / "one", tmp_path / "two"]
    roots[1].mkdir()
    with DirectoryLock.acquire(roots[1]):
        with pytest.raises(DirectoryLockedError):
            ensure_formatted(roots, 7)
        assert not any((root / META_PROPERTIES_NAME).exists() for root in roots)
    assert ensure_formatted(roots, 8) == roots
    assert {properties(root).cluster_id for root in roots} == {properties(roots[0]).cluster_id}


def test_what_another_start_has_formatted_before_it_was_locked_is_taken_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acquire = DirectoryLock.acquire

    def acquire_late(root: Path) -> DirectoryLock:
        monkeypatch.undo()
        ensure_formatted([root], 7)
        return acquire(root)

    monkeypatch.setattr(DirectoryLock, "acquire", acquire_late)
    assert ensure_formatted([tmp_path / "one"]) == []
    assert properties(tmp_path / "one").node_id == 7
