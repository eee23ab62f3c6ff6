"""The file that names partitions; tests beside Kafka's own tool are in test_elections_against_kafka.py."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore import TopicPartition
from replication.cluster.operations.election_data import parse_election_data, read_election_data
from replication.cluster.operations.tool_error import ToolError

TOO_DEEP = "a value that is nested too deeply to be shown"

partitions = st.builds(TopicPartition, st.text(), st.integers(-(2**31), 2**31 - 1))
trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def written(*items: object, **more: object) -> str:
    return json.dumps({"partitions": items} | more)


@given(st.lists(partitions, unique=True), st.text(st.sampled_from(" \r\n\t")), st.text())
def test_what_is_named_is_found(named: list[TopicPartition], blanks: str, rest: str) -> None:
    items = [{"topic": each.topic, "partition": each.partition, "comment": 1} for each in named]
    assert parse_election_data(blanks + written(*items, version=1) + rest) == tuple(named)


@given(trees)
def test_whatever_else_it_holds_there_is_a_message(tree: object) -> None:
    for text in (json.dumps(tree), written(tree), written({"topic": "a", "partition": tree})):
        assert complaint_about(text).startswith(
            ("none: ", "No such field exists: ", "Expected ", "Replica election data ")
        )


def complaint_about(text: str) -> str:
    try:
        return f"none: {parse_election_data(text)}"
    except ToolError as error:
        return error.message


@given(st.text())
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(ToolError):
        parse_election_data(f"[{text}")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "Replica election data is empty"),
        ("{", "Replica election data is empty"),
        ('{"partitions":NaN}', "Replica election data is empty"),
        ("[" * 100_000, "Replica election data is empty"),
        ("12x", "Replica election data is empty"),
        (" \n", "Expected JSON object, received "),
        ("12 x", "Expected JSON object, received 12"),
        ("{}", 'Replica election data is missing "partitions" field'),
        ('{"partitions":{"a": [1, "é"]}}', 'Expected JSON array, received {"a":[1,"é"]}'),
        (written({"partition": 0}), "No such field exists: `topic`"),
        (written({"topic": "a"}), "No such field exists: `partition`"),
        (written({"topic": None, "partition": 0}), "Expected `String` value, received null"),
        (written({"topic": "a", "partition": "x"}), 'Expected `Integer` value, received "x"'),
        (written({"topic": "a", "partition": True}), "Expected `Integer` value, received true"),
        (written({"topic": "a", "partition": 2**31}), "Expected `Integer` value, received 2147483648"),
        (written(*[{"topic": "a", "partition": 0}] * 2), "Replica election data contains duplicate partitions: [a-0]"),
    ],
)
def test_what_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ToolError) as refused:
        parse_election_data(text)
    assert refused.value.message == complaint


@pytest.mark.parametrize(
    ("number", "printed"),
    [
        ("1.0", "1.0"),
        ("1e5", "100000.0"),
        ("-0.0", "-0.0"),
        ("0.001", "0.001"),
        ("0.00012", "1.2E-4"),
        ("12345678.5", "1.23456785E7"),
        ("-1e16", "-1.0E16"),
        ("1e400", '"Infinity"'),
        ("-1e400", '"-Infinity"'),
    ],
)
def test_numbers_are_shown_as_java_writes_them(number: str, printed: str) -> None:
    with pytest.raises(ToolError) as refused:
        parse_election_data(number)
    assert refused.value.message == f"Expected JSON object, received {printed}"


@pytest.mark.parametrize("item", ["[" * 700 + "]" * 700, '{"a":' * 700 + "1" + "}" * 700])
def test_what_is_nested_too_deeply_to_be_shown_is_refused_all_the_same(item: str) -> None:
    expected = "JSON array" if item.startswith("{") else "JSON object"
    assert complaint_about(f'{{"partitions":{item}}}') == f"Expected {expected}, received {TOO_DEEP}"


def test_half_a_character_becomes_a_question_mark_as_in_java() -> None:
    assert parse_election_data(written({"topic": "a\ud800", "partition": 0})) == (TopicPartition("a?", 0),)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ToolError) as refused:
        read_election_data(tmp_path / "nothing.json")
    assert refused.value.message == f"Unable to read file {tmp_path / 'nothing.json'}"
    assert "No such file" in refused.value.reason
