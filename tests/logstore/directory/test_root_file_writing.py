"""What we write of the small files is what a broker wrote."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME, CleanShutdown
from logstore.files.offset_checkpoint import OFFSET_CHECKPOINTS, OffsetCheckpoint
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata
from logstore.topic_partition import TopicPartition
from tests.data.replicas import LABELS, replicas

OFFSETS = st.dictionaries(
    st.builds(TopicPartition, st.from_regex(r"[a-z0-9._-]{1,9}", fullmatch=True), st.integers(0, 2**31 - 1)),
    st.integers(-(2**63), 2**63 - 1),
)


@pytest.mark.parametrize("label", LABELS)
def test_files_of_a_broker_are_written_as_it_wrote_them(label: str, tmp_path: Path) -> None:
    for file in sorted(replicas(label).glob("broker-*/**/*")):
        copy = tmp_path / file.name
        if file.name == CLEAN_SHUTDOWN_NAME:
            CleanShutdown.read(file).write(copy)
        elif file.name == PARTITION_METADATA_NAME:
            PartitionMetadata.read(file).write(copy)
        elif file.name in OFFSET_CHECKPOINTS and file.stat().st_size:
            OffsetCheckpoint.read(file).write(copy)
            # Kafka writes a hash map's order.
            assert sorted(copy.read_bytes().splitlines()) == sorted(file.read_bytes().splitlines())
            continue
        else:
            continue
        assert copy.read_bytes() == file.read_bytes()


@given(OFFSETS)
def test_a_written_checkpoint_reads_back(offsets: dict[TopicPartition, int]) -> None:
    assert OffsetCheckpoint.parse(OffsetCheckpoint(offsets).encode()) == offsets
