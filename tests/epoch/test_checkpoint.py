"""The checkpoint text; which texts Kafka accepts is asked of it in test_against_kafka."""

import re
import sys
from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epoch import CheckpointError, EpochHistory, LeaderEpochCheckpoint, checkpoint
from epoch.checkpoint import format_checkpoint, parse_checkpoint_lines, parse_number
from epoch.checkpoint_columns import format_columns, rising_columns
from epoch.filesystem import FileSystem
from tests.epoch.histories import ENTRIES

PLACE = Path("t-0/leader-epoch-checkpoint")

BROKEN = {
    b"1\n0\n": (1, "version '1' is not 0"),
    b"zero\n0\n": (1, "'zero' is not a number"),
    b"2147483648\n0\n": (1, "does not fit 32 bits"),
    b"\n\xff": (2, "the bytes are not text"),
    b"0\nmany\n": (2, "'many' is not a number"),
    b"0\n2147483648\n": (2, "does not fit 32 bits"),
    b"0\n2000000000\n1 10\n": (2, "the count is 2000000000, but 1 entries follow"),
    b"0\n3\n1 10\n": (2, "the count is 3, but 1 entries follow"),
    b"0\n1\n99999999999 10\n": (3, "99999999999 does not fit 32 bits"),
    b"0\n-1\n": (2, "the count is -1"),
    b"0\n2\n1 10\n1 2 3\n": (4, "'1 2 3' does not have 2 fields"),
    b"0\n1\n 1 10\n": (3, "' 1 10' does not have 2 fields"),
    b"0\n1\n1 10\n\n": (4, "'' does not have 2 fields"),
    b"0\n1\n1 ten\n": (3, "'ten' is not a number"),
    b"0\n1\n1_0 10\n": (3, "'1_0' is not a number"),
    b"0\n1\n1 9223372036854775808\n": (3, "does not fit 64 bits"),
    b"0\n1\n-1 10\n": (3, "never negative"),
    b"0\n1\n1 \xff\n": (3, "the bytes are not text"),
    b"0\n1\n" + b"9" * 10_000 + b" 1\n": (3, "is not a number"),
    b"\x00" * 4096: (1, "is not a number"),
}

ODD = [
    b"",
    b"0",
    b"0\n",
    b"0\n1\n1 10",
    b"0\r\n1\r\n1 10\r\n",
    b"+0\n1\n1 10\n",
    b"0\n1\n1  10\n",
    b"0\n1\n\n1 10\n",
    b"0\n1\n01 10\n",
    b"0\n1\n1 " + b"0" * 50 + b"10\n",
    b"0\n2\n1 10\n1 20\n",
    b"0\n2\n1 10\n2 10\n",
    b"0\n1\n1 9999999999999999999\n",
    b"0\n1\n2147483648 10\n",
    b"0\n2\n1 2 3\n4\n",
    b"0\n2\n1 2\n 4\n",
]
"""What is not as it is written: forgiven or refused, line by line."""
DAMAGE = [b"", b"0", b"00", b" ", b"\n", b"+", b"x", b"9" * 20]


def with_damage(entries: list[tuple[int, int]], position: int, damage: bytes) -> bytes:
    text = format_checkpoint(entries)
    return text[:position] + damage + text[position + 1 :]


Rising = tuple[list[int], list[int]]


def rising(entries: list[tuple[int, int]]) -> Rising:
    return sorted(epoch for epoch, _ in entries), sorted(start for _, start in entries)


RISING = st.lists(
    st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 2)), unique_by=(lambda e: e[0], lambda e: e[1])
).map(rising)
TEXTS = st.binary(max_size=200) | st.text("0123456789 +-\n\r\tx", max_size=60).map(str.encode)


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


@pytest.mark.parametrize("text", [b"0\r\n2\r\n0 0\r\n7 10\r\n", b"+0\n2\n0 0\n+7 10\n", b"0\n2\n0  0\n7\t10"])
def test_a_file_that_is_forgiven_has_all_its_entries(tmp_path: Path, text: bytes) -> None:
    file = LeaderEpochCheckpoint(tmp_path)
    file.path.write_bytes(text)
    assert file.read() == [(0, 0), (7, 10)]


def test_of_a_long_line_a_message_quotes_the_first_sixty_characters() -> None:
    for length, quoted in ((60, "x" * 60), (61, "x" * 60 + "...")):
        with pytest.raises(CheckpointError, match=re.escape(f"'{quoted}' does not have 2 fields")):
            parse_checkpoint_lines(b"0\n1\n" + b"x" * length + b"\n", path=PLACE, fields=2)


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


@given(TEXTS)
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


@pytest.mark.parametrize("bits", [32, 64])
def test_numbers_are_those_of_java(bits: int) -> None:
    least, largest = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    for number in (least, -2, -1, 0, largest):
        assert parse_number(str(number), bits=bits, path=PLACE, line=3) == number
    for number in (least - 1, largest + 1):
        with pytest.raises(CheckpointError, match=f"{number} does not fit {bits} bits"):
            parse_number(str(number), bits=bits, path=PLACE, line=3)


def test_fields_may_be_text() -> None:
    [row] = parse_checkpoint_lines(b"0\n1\nmy-topic 3 42\n", path=PLACE, fields=3)
    assert row.fields == ("my-topic", "3", "42")


def test_a_first_field_is_never_empty() -> None:
    with pytest.raises(CheckpointError, match="line 3: ' 3 42' does not have 3 fields"):
        parse_checkpoint_lines(b"0\n1\n 3 42\n", path=PLACE, fields=3)


def test_a_lone_carriage_return_ends_a_line() -> None:
    [row] = parse_checkpoint_lines(b"0\r1\r1 10\r", path=PLACE, fields=2)
    assert row == (3, ("1", "10"))


def test_a_file_too_large_to_be_a_checkpoint_is_not_read_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = LeaderEpochCheckpoint(tmp_path)
    file.write([(epoch, epoch) for epoch in range(30)])
    size = file.path.stat().st_size
    monkeypatch.setattr(checkpoint, "MAX_CHECKPOINT_BYTES", size)
    assert len(file.read()) == 30
    monkeypatch.setattr(checkpoint, "MAX_CHECKPOINT_BYTES", size - 1)
    with pytest.raises(CheckpointError, match=f"more than {size - 1} bytes"):
        file.read()


def test_a_missing_file_is_an_empty_history(tmp_path: Path) -> None:
    assert LeaderEpochCheckpoint(tmp_path).read() == []


def test_a_large_file_is_read_to_the_same_history(tmp_path: Path) -> None:
    entries = [(3 * row, 10 * row * row) for row in range(20_000)]
    file = LeaderEpochCheckpoint(tmp_path)
    file.write(entries)
    assert file.path.stat().st_size > checkpoint._BULK_BYTES
    assert rising_columns(file.path.read_bytes()) is not None
    assert file.read_history() == EpochHistory(entries)
    assert file.read() == EpochHistory(entries).entries


def test_a_large_file_whose_entries_do_not_rise_is_repaired(tmp_path: Path) -> None:
    entries = [(row, 10 * row) for row in range(20_000)]
    file = LeaderEpochCheckpoint(tmp_path)
    file.write([*entries, (500, 700_000)])
    assert (
        file.read_history()
        == EpochHistory([*entries, (500, 700_000)])
        == EpochHistory([*entries[:500], (500, 700_000)])
    )


@given(RISING)
def test_columns_are_read_of_all_that_rises(entries: Rising) -> None:
    columns = rising_columns(format_checkpoint(zip(*entries, strict=True)))
    assert columns is not None
    assert (columns[0].tolist(), columns[1].tolist()) == entries


@given(RISING)
def test_columns_are_written_as_lines_are(entries: Rising) -> None:
    epochs, starts = entries
    lines = b"0\n%d\n" % len(epochs) + format_columns(array("q", epochs), array("q", starts))
    assert lines == format_checkpoint(zip(*entries, strict=True))


@pytest.mark.parametrize("is_numpy_loaded", [False, True])
@pytest.mark.parametrize("size", [0, 1, 20, 300, 4_095, 4_096, 10_000])
def test_a_history_is_written_as_its_entries_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, is_numpy_loaded: bool
) -> None:
    if not is_numpy_loaded:
        monkeypatch.delitem(sys.modules, "numpy", raising=False)
    history = EpochHistory((3 * row, 10 * row * row) for row in range(size))
    file = LeaderEpochCheckpoint(tmp_path)
    file.write_history(history)
    assert file.path.read_bytes() == format_checkpoint(history.entries)
    assert file.read_history() == history


@given(st.lists(st.tuples(st.sampled_from(["on", "on", "again", "back", "from"]), st.integers(1, 9)), max_size=12))
def test_whatever_was_written_before_a_history_is_written_whole(changes: list[tuple[str, int]]) -> None:
    written = list[tuple[Path, bytes]]()

    class Kept(FileSystem):
        def write_atomically(self, path: Path, data: bytes) -> None:
            written.append((path, data))

    file = LeaderEpochCheckpoint(Path("unused"), Kept())
    histories = [EpochHistory()]
    for change, step in changes:
        history = histories[-step % len(histories)]  # not always the one that was written last
        last = history.latest or (0, 0)
        if change == "on":
            history = history.assign(last[0] + step, last[1] + step).assign(last[0] + 10, last[1] + 20)
        elif change != "again":
            history = (history.truncate_to if change == "back" else history.truncate_from_start)(last[1] - step)
        histories.append(history)
        file.write_history(history)
        assert written[-1] == (file.path, format_checkpoint(history.entries))


@given(st.one_of(TEXTS, st.builds(with_damage, ENTRIES, st.integers(0, 40), st.sampled_from(DAMAGE))))
def test_columns_are_read_of_nothing_else(text: bytes) -> None:
    columns = rising_columns(text)
    if columns is not None:
        assert format_checkpoint(zip(*columns, strict=True)) == text
        assert EpochHistory.of_rising(*columns) == EpochHistory(zip(*columns, strict=True))


@pytest.mark.parametrize("text", [*BROKEN, *ODD])
def test_what_must_be_looked_at_line_by_line_is_left_alone(text: bytes) -> None:
    assert rising_columns(text) is None
