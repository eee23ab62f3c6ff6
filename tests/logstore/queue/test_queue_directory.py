"""A queue makes one directory of its own, and never touches one in which others keep logs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from logstore import Log, LogDirectory, TopicPartition
from logstore.errors import NotALogDirectoryError
from logstore.queue import WorkQueue


def files_in(directory: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_a_queue_is_made_in_a_directory_that_exists_and_in_no_mistyped_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        WorkQueue.open(tmp_path / "mistyped" / "tasks")
    assert caught.value.__notes__ == [f"{tmp_path / 'mistyped'} does not exist: make it first, or correct the path"]
    assert not any(tmp_path.iterdir())
    with WorkQueue.open(tmp_path / "tasks") as queue:
        assert queue.put([b"wash"]) == [0]


def a_log(place: Path) -> None:
    with Log.open(place) as log:
        log.append([b"kept"])


def a_root_of_logs(place: Path) -> None:
    with LogDirectory.open(place) as root:
        root.create(TopicPartition("items", 0)).append([b"kept"])


def logs_without_checkpoints(place: Path) -> None:
    place.mkdir()
    a_log(place / "orders-0")


def a_copy_of_a_topic_called_items(place: Path) -> None:
    place.mkdir()
    a_log(place / "items-0")
    (place / "items-0/partition.metadata").write_text("version: 0\ntopic_id: OZizFyFVUbfdbRvClQTtBQ\n")


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (a_log, ".*"),
        (a_root_of_logs, "replication-offset-checkpoint|recovery-point-offset-checkpoint|log-start-offset-checkpoint"),
        (logs_without_checkpoints, "orders-0"),
        (a_copy_of_a_topic_called_items, "items-0/partition.metadata"),
    ],
)
def test_a_directory_in_which_others_keep_logs_is_refused_as_it_is(
    tmp_path: Path, make: Callable[[Path], None], found: str
) -> None:
    make(tmp_path / "place")
    before = files_in(tmp_path)
    refused = rf"place: this is a log, or a root of logs, and no work queue: it holds ({found}); name a directory for "
    with pytest.raises(NotALogDirectoryError, match=refused):
        WorkQueue.open(tmp_path / "place")
    assert files_in(tmp_path) == before


def test_a_file_in_the_place_of_a_queue_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tasks").write_text("a list")
    with pytest.raises(NotALogDirectoryError, match="tasks: not a directory; name one for the queue alone"):
        WorkQueue.open(tmp_path / "tasks")


def test_what_its_users_keep_beside_the_log_is_no_matter(tmp_path: Path) -> None:
    with WorkQueue.open(tmp_path / "tasks") as queue:
        queue.put([b"wash"])
    (tmp_path / "tasks/ledger.db").touch()
    (tmp_path / "tasks/notes-1").mkdir()
    with WorkQueue.open(tmp_path / "tasks/notes-1/others") as nested, WorkQueue.open(tmp_path / "tasks") as queue:
        assert nested.take() == []
        assert [item.value for item in queue.take()] == [b"wash"]
