"""What file names in a partition directory say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.file_name import FileFate, FileKind, FileName, file_name, parse_file_name
from tests.data.replicas import LABELS, replicas

NUMBERED = [
    FileKind.LOG,
    FileKind.OFFSET_INDEX,
    FileKind.TIME_INDEX,
    FileKind.TRANSACTION_INDEX,
    FileKind.PRODUCER_SNAPSHOT,
]


@given(st.sampled_from(NUMBERED), st.integers(0, 2**63 - 1), st.sampled_from(FileFate))
def test_names_are_read_as_written(kind: FileKind, offset: int, fate: FileFate) -> None:
    suffix = f".{fate.value}" if fate.value else ""
    assert parse_file_name(file_name(kind, offset) + suffix) == FileName(kind, offset, None, fate)


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        ("leader-epoch-checkpoint", FileName(FileKind.LEADER_EPOCH_CHECKPOINT)),
        ("partition.metadata", FileName(FileKind.PARTITION_METADATA)),
        ("quorum-state", FileName(FileKind.QUORUM_STATE)),
        ("leader-epoch-checkpoint.tmp", FileName(FileKind.TEMPORARY)),
        ("00000000000000000042-0000000007.checkpoint", FileName(FileKind.METADATA_SNAPSHOT, 42, 7)),
        (
            "00000000000000000042-0000000007.checkpoint.deleted",
            FileName(FileKind.METADATA_SNAPSHOT, 42, 7, FileFate.DELETED),
        ),
    ],
)
def test_files_with_a_name_of_their_own(name: str, parsed: FileName) -> None:
    assert parse_file_name(name) == parsed


@pytest.mark.parametrize(
    "name",
    [
        "",
        "0.log",
        "99999999999999999999.log",
        "00000000000000000000.log.bak",
        "00000000000000000000-0000000001.log",
        "00000000000000000000.checkpoint",
        "\u0660" * 20 + ".log",
        "00000000000000000000.log\n",
        "README",
    ],
)
def test_other_names_are_unknown(name: str) -> None:
    assert parse_file_name(name) == FileName(FileKind.UNKNOWN)


@given(st.text())
def test_every_name_has_an_answer(name: str) -> None:
    assert isinstance(parse_file_name(name), FileName)


@pytest.mark.parametrize("label", LABELS)
def test_no_file_of_the_replicas_is_unknown(label: str) -> None:
    kinds = {parse_file_name(path.name).kind for path in replicas(label).glob("*/*/*")}
    assert FileKind.UNKNOWN not in kinds
    assert kinds >= {FileKind.LOG, FileKind.OFFSET_INDEX, FileKind.LEADER_EPOCH_CHECKPOINT}
