"""Who a broker is, is what all of its log.dirs agree on."""

import errno
from pathlib import Path

import pytest

from logstore.directory.log_directories import LogDirectories
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.meta_properties import MetaProperties
from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.cluster.broker.errors import InconsistentDirectoriesError
from tests.oracle.cluster import CLUSTER_ID
from tests.replication.cluster.broker.member import format_root


def identity(*roots: Path) -> BrokerIdentity:
    with LogDirectories.open(roots, replicated=True) as directories:
        return BrokerIdentity.of(directories)


def test_all_directories_of_a_broker_are_named(tmp_path: Path) -> None:
    roots = [tmp_path / "disk-1", tmp_path / "disk-2"]
    ids = tuple(format_root(root, 9) for root in roots)
    assert identity(*roots) == BrokerIdentity(cluster_id=CLUSTER_ID, broker_id=9, directory_ids=ids)


def test_the_epoch_of_the_last_start_is_known_after_an_orderly_stop(tmp_path: Path) -> None:
    format_root(tmp_path / "disk", 9)
    with LogDirectories.open([tmp_path / "disk"], replicated=True) as directories:
        for root in directories.roots:
            root.miss({})
        directories.broker_epoch = 17
    assert identity(tmp_path / "disk").previous_broker_epoch == 17


def test_a_directory_that_is_offline_is_not_named(tmp_path: Path) -> None:
    directory_id = format_root(tmp_path / "disk-1", 9)
    (tmp_path / "disk-2").write_bytes(b"no directory")
    assert identity(tmp_path / "disk-1", tmp_path / "disk-2").directory_ids == (directory_id,)


def test_a_directory_whose_disk_fails_is_not_named_any_more(tmp_path: Path) -> None:
    first, _ = (format_root(tmp_path / name, 9) for name in ("disk-1", "disk-2"))
    with LogDirectories.open([tmp_path / "disk-1", tmp_path / "disk-2"], replicated=True) as directories:
        directories.broker_epoch = 17
        directories.roots[1]._disk.failure = OSError(errno.EIO, "Input/output error")
        found = BrokerIdentity.of(directories)
        directories.roots[0]._disk.failure = directories.roots[1]._disk.failure
        with pytest.raises(InconsistentDirectoriesError, match=r"no log\.dirs root is online"):
            BrokerIdentity.of(directories)
    assert found.directory_ids == (first,)
    assert found.previous_broker_epoch == -1


@pytest.mark.parametrize("other", [(8, CLUSTER_ID), (9, "another-cluster")])
def test_directories_of_two_brokers_are_refused(tmp_path: Path, other: tuple[int, str]) -> None:
    format_root(tmp_path / "disk-1", 9)
    format_root(tmp_path / "disk-2", *other)
    with pytest.raises(InconsistentDirectoriesError, match=f"disk-2 to node {other[0]} in cluster {other[1]}"):
        identity(tmp_path / "disk-1", tmp_path / "disk-2")


def test_a_copied_directory_is_refused(tmp_path: Path) -> None:
    format_root(tmp_path / "disk-1", 9)
    (tmp_path / "disk-2").mkdir()
    copy = (tmp_path / "disk-1" / META_PROPERTIES_NAME).read_bytes()
    (tmp_path / "disk-2" / META_PROPERTIES_NAME).write_bytes(copy)
    with pytest.raises(InconsistentDirectoriesError, match="one is a copy of the other"):
        identity(tmp_path / "disk-1", tmp_path / "disk-2")


def test_a_directory_that_was_never_formatted_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InconsistentDirectoriesError, match="format it for a cluster first"):
        identity(tmp_path / "disk")


@pytest.mark.parametrize(
    "properties", [MetaProperties(0, CLUSTER_ID, 9, None), MetaProperties(1, CLUSTER_ID, 9, None)], ids=["old", "no id"]
)
def test_a_directory_of_a_broker_before_37_is_refused(tmp_path: Path, properties: MetaProperties) -> None:
    (tmp_path / "disk").mkdir()
    properties.write(tmp_path / "disk" / META_PROPERTIES_NAME)
    with pytest.raises(InconsistentDirectoriesError, match=r"which Kafka 3\.7 and later write"):
        identity(tmp_path / "disk")
