"""Snapshots in an object store are audited like local ones: a real S3 server, on loopback."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow.fs import LocalFileSystem, copy_files
from pyspark.sql import SparkSession

from replication.audit import find_snapshots, salvage
from replication.base.errors import NoSnapshotError, SnapshotChangedError, UnreadableLocationError
from replication.copies.audit.snapshots.remote.remote_directory import RemoteDirectory
from replication.copies.audit.snapshots.storage import Storage
from tests.data.replicas import replicas
from tests.replication.copies.audit.spark.results import Results, results
from tests.replication.copies.audit.spark.results_program import assert_same
from tests.replication.copies.audit.spark.source.planned import Planned

moto = pytest.importorskip("moto.server", reason="moto's S3 server is missing")


@pytest.fixture(scope="module")
def bucket(damaged_copies: Path) -> Iterator[str]:
    """The URI of a bucket with `diverged` in it, and `damaged`, but for its options."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    options = f"?endpoint_override={host}:{port}&scheme=http&region=us-east-1&allow_bucket_creation=true"
    uri = f"s3://key:secret@backups/diverged{options}"
    filesystem, path = RemoteDirectory(uri).place
    filesystem.create_dir("backups")
    for copies, target in ((replicas("diverged"), path), (damaged_copies, path.replace("diverged", "damaged"))):
        # In one thread: this server fails where two make the same directory at once.
        copy_files(str(copies), target, LocalFileSystem(), filesystem, use_threads=False)
    yield uri
    server.stop()


def test_a_listing_is_that_of_the_local_directory(bucket: str) -> None:
    assert Storage(bucket).tree() == Storage(str(replicas("diverged"))).tree()


def test_a_copy_is_there_as_long_as_it_is_read(bucket: str) -> None:
    root = Storage(bucket).child("broker-1")
    with root.local_copy("codecs-0", only={"00000000000000000000.log"}) as directory:
        original = replicas("diverged") / "broker-1"
        assert [path.name for path in directory.iterdir()] == ["00000000000000000000.log"]
        log = directory / "00000000000000000000.log"
        assert log.read_bytes() == (original / "codecs-0" / log.name).read_bytes()
        assert (directory.parent / "meta.properties").read_bytes() == (original / "meta.properties").read_bytes()
    assert not directory.exists()


def test_snapshots_are_named_like_local_ones(bucket: str) -> None:
    snapshots = find_snapshots([bucket])

    assert [snapshot.name for snapshot in snapshots] == ["broker-1", "broker-2", "broker-3"]
    assert [snapshot.roots[0].node_id for snapshot in snapshots] == [1, 2, 3]


def test_what_is_not_there_is_said_without_the_secret(bucket: str) -> None:
    with pytest.raises((NoSnapshotError, UnreadableLocationError), match="s3://backups/nowhere") as raised:
        find_snapshots([bucket.replace("diverged", "nowhere")])

    assert "secret" not in str(raised.value)


def test_an_audit_and_the_tables_of_logs_are_those_of_the_local_directory(
    bucket: str, spark: SparkSession, expected_results: Results
) -> None:
    told = results(spark, bucket, bucket.replace("diverged", "damaged"))
    local = str(replicas("diverged"))
    as_local = {name: [row.replace("s3://backups/diverged", local) for row in rows] for name, rows in told.items()}
    assert as_local != told  # copies are named by where they are
    assert_same(as_local, expected_results)


def test_a_vanished_object_is_a_finding(bucket: str, tmp_path: Path) -> None:
    del tmp_path
    storage = Storage(bucket).child("broker-2")

    with pytest.raises(FileNotFoundError), storage.local_copy("nowhere-0"):
        pass


@pytest.mark.parametrize("rows", ["records", "batches", "segments"])
def test_rows_are_those_of_the_local_files(rows: str, bucket: str) -> None:
    options = {"rows": rows, "topics": "txns,diverge", "replicas": "broker-1"}

    key = lambda row: sorted((name, str(value)) for name, value in row.items())  # noqa: E731
    remote = sorted(Planned(bucket, taskBytes="1000", **options).rows(), key=key)

    assert remote == sorted(Planned(replicas("diverged"), **options).rows(), key=key)


def test_an_object_that_shrinks_or_goes_ends_the_read(bucket: str) -> None:
    place = bucket.replace("diverged", "diverged/broker-1/codecs-0")
    filesystem, path = RemoteDirectory(place).place
    file = f"{path}/{0:020d}.log"
    with filesystem.open_input_stream(file) as stream:
        content = stream.read()
    planned = Planned(place)
    told = r"^s3://backups/diverged/broker-1/codecs-0/0{20}\.log: it "
    try:
        with filesystem.open_output_stream(file) as stream:
            stream.write(content[:-1])
        with pytest.raises(SnapshotChangedError, match=f"{told}had .* since it was listed"):
            planned.rows()
        filesystem.delete_file(file)
        with pytest.raises(SnapshotChangedError, match=f"{told}is gone since it was listed"):
            planned.rows()
    finally:
        with filesystem.open_output_stream(file) as stream:
            stream.write(content)


def test_what_was_cut_off_is_salvaged_as_from_local_copies(spark: SparkSession, bucket: str) -> None:
    remote, local = (salvage(spark, [place], "broker-2") for place in (bucket, replicas("diverged")))
    assert remote.records.count() == 240
    for ours, theirs in ((remote.records, local.records), (remote.reports, local.reports)):
        assert sorted(map(str, ours.collect())) == sorted(map(str, theirs.collect()))
