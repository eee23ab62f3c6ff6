"""The checkpoint text; which texts Kafka accepts is asked of it in test_against_kafka."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epoch import CheckpointError, LeaderEpochCheckpoint, checkpoint
from epoch.checkpoint import format_checkpoint, parse_checkpoint_lines, parse_number
from tests.epoch.histories import ENTRIES

PLACE = Path("t-0/leader-epoch-checkpoint")

BROKEN = {
    b"1\n0\n": (1, "version '1' is not 0"),
    b"zero\n0\n": (1, "'zero' is not a number"),
    b"0\nmany\n": (2, "'many' is not a number"),
    b"0\n2147483648\n": (2, "does not fit 32 bits"),
    b"0\n2000000000\n1 10\n": (2, "the count is 2000000000, but 1 entries follow"),
    b"0\n3\n1 10\n": (2, "the count is 3, but 1 entries follow"),
    b"0\n1\n99999999999 10\n": (3, "99999999999 does not fit 32 bits"),
    b"0\n-1\n": (2, "the count is -1"),
    b"0\n2\n1 10\n1 2 3\n": (4, "'1 2 3' is not 2 fields"),
    b"0\n1\n 1 10\n": (3, "' 1 10' is not 2 fields"),
    b"0\n1\n1 10\n\n": (4, "'' is not 2 fields"),
    b"0\n1\n1 ten\n": (3, "'ten' is not a number"),
    b"0\n1\n1_0 10\n": (3, "'1_0' is not a number"),
    b"0\n1\n1 9223372036854775808\n": (3, "does not fit 64 bits"),
    b"0\n1\n-1 10\n": (3, "never negative"),
    b"0\n1\n1 \xff\n": (3, "the bytes are not text"),
    b"0\n1\n" + b"9" * 10_000 + b" 1\n": (3, "is not a number"),
    b"\x00" * 4096: (1, "is not a number"),
}


@pytest.mark.parametrize("text", BROKEN)
def test_an_unreadable_file_is_named_with_its_line(tmp_path: Path, text: bytes) -> None:
    line, problem = BROKEN[text]
    file = LeaderEpochCheckpoint(tmp_path)
    file.path.write_bytes(text)
    with pytest.raises(CheckpointError) as refused:
        file.read()
    assert (refused.value.file, refused.value.line) == (file.path, line)
    assert str(refused.value).startswith(f"{file.path}, line {line}: ")
    assert problem in str(refused.value)
    assert len(str(refused.value)) < 400


@given(ENTRIES)
def test_what_is_written_is_read_back(entries: list[tuple[int, int]]) -> None:
    rows = parse_checkpoint_lines(format_checkpoint(entries), path=PLACE, fields=2)
    assert [tuple(map(int, row.fields)) for row in rows] == entries
    assert [row.line for row in rows] == list(range(3, 3 + len(entries)))


@pytest.mark.parametrize("text", [b"", b"0", b"0\n", b"0\n0", b"0\n0\n", b"+0\r\n-0\r\n"])
def test_an_empty_checkpoint_has_several_forms(text: bytes) -> None:
    assert parse_checkpoint_lines(text, path=PLACE, fields=2) == []


@pytest.mark.parametrize("line", [b"1 10", b"1\t10", b"1   10", b"1 10 \t", b"1 10\r", b"1\x0b10"])
def test_blanks_are_forgiven(line: bytes) -> None:
    [row] = parse_checkpoint_lines(b"0\n1\n" + line + b"\n", path=PLACE, fields=2)
    assert row.fields == ("1", "10")


@given(st.binary(max_size=200) | st.text("0123456789 +-\n\r\tx", max_size=60).map(str.encode))
def test_no_bytes_do_worse_than_a_checkpoint_error(data: bytes) -> None:
    assert 0 <= line_in_error(data) <= max(1, len(data.splitlines()))


def line_in_error(data: bytes) -> int:
    """The line that is complained about; 0 for none."""
    try:
        for row in parse_checkpoint_lines(data, path=PLACE, fields=2):
            parse_number(row.fields[0], bits=32, path=PLACE, line=row.line)
    except CheckpointError as error:
        return error.line
    return 0


def test_fields_may_be_text() -> None:
    [row] = parse_checkpoint_lines(b"0\n1\nmy-topic 3 42\n", path=PLACE, fields=3)
    assert row.fields == ("my-topic", "3", "42")


def test_a_first_field_is_never_empty() -> None:
    with pytest.raises(CheckpointError, match="line 3: ' 3 42' is not 3 fields"):
        parse_checkpoint_lines(b"0\n1\n 3 42\n", path=PLACE, fields=3)


def test_a_lone_carriage_return_ends_a_line() -> None:
    [row] = parse_checkpoint_lines(b"0\r1\r1 10\r", path=PLACE, fields=2)
    assert row == (3, ("1", "10"))


def test_a_file_too_large_to_be_a_checkpoint_is_not_read_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "MAX_CHECKPOINT_BYTES", 100)
    file = LeaderEpochCheckpoint(tmp_path)
    file.write([(epoch, epoch) for epoch in range(30)])
    with pytest.raises(CheckpointError, match="more than 100 bytes"):
        file.read()


def test_a_missing_file_is_an_empty_history(tmp_path: Path) -> None:
    assert LeaderEpochCheckpoint(tmp_path).read() == []
