"""The disks of one broker are one replica for the source as for the audit, wherever they are and however named."""

from collections.abc import Callable
from pathlib import Path

import pytest

from replication.audit import audit_locally
from replication.copies.audit.snapshots.snapshot import find_snapshots
from tests.replication.copies.audit.snapshot_roots import batches, write_root
from tests.replication.copies.audit.spark.source.planned import Planned

META = "version=1\ncluster.id=clusterA\nnode.id={node}\ndirectory.id={directory}\n"
DIRECTORIES = ("cGFydGl0aW9uLW9mLW9uZQ", "cGFydGl0aW9uLW9mLXR3bw", "cGFydGl0aW9uLW9mLXNpeA")
Named = Callable[[Path], list[Path]]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Broker 1 has two disks at two mounts, and broker 2 has one with the same partitions."""
    roots = {"mnt/a/kafka": (1, ["t-0"]), "srv/b/logs": (1, ["t-1"]), "other": (2, ["t-0", "t-1"])}
    for (name, (node, held)), directory in zip(roots.items(), DIRECTORIES, strict=True):
        write_root(tmp_path / name, {partition: batches(3) for partition in held})
        (tmp_path / name / "meta.properties").write_text(META.format(node=node, directory=directory))
    return tmp_path


def one_by_one(place: Path) -> list[Path]:
    return [place / "mnt/a/kafka", place / "srv/b/logs", place / "other"]


def by_links(place: Path) -> list[Path]:
    links = place / "links"
    links.mkdir()
    for number, root in enumerate(one_by_one(place)):
        (links / f"disk-{number}").symlink_to(root)
    return [links]


def links_one_by_one(place: Path) -> list[Path]:
    by_links(place)
    return sorted((place / "links").iterdir())


@pytest.mark.parametrize("named", [one_by_one, by_links, links_one_by_one])
@pytest.mark.parametrize("rows", ["records", "batches", "segments", "epochs"])
def test_they_are_one_replica_for_the_source_as_for_the_audit(named: Named, rows: str, place: Path) -> None:
    paths = named(place)
    table = Planned(*paths, rows=rows).rows()
    expected = {
        (snapshot.name, copy.topic_partition.partition)
        for snapshot in find_snapshots(paths)
        for copy in snapshot.copies()
    }
    assert {(row["replica"], row["partition"]) for row in table} == expected
    assert len({replica for replica, _ in expected}) == 2
    audited = audit_locally(paths, workers=0).document
    assert [each["verdicts"] for each in audited["partitions"]] == [["identical"]] * 2
