"""Options are taken apart as Kafka's tools do; tests beside Kafka's own are in test_elections_against_kafka.py."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.cluster.operations.tool_error import ToolError
from replication.cluster.operations.tool_options import ToolOptions

VALUED = ("topic", "partition")
FLAGS = ("all", "help")


def read(*arguments: str) -> ToolOptions:
    return ToolOptions.read(arguments, VALUED, FLAGS)


@given(st.lists(st.tuples(st.sampled_from(VALUED), st.text(min_size=1)), max_size=5), st.data())
def test_values_are_found_however_they_are_written(given_values: list[tuple[str, str]], data: st.DataObject) -> None:
    arguments: list[str] = []
    for name, value in given_values:
        dashes = data.draw(st.sampled_from(["-", "--"]))
        together = data.draw(st.booleans())
        arguments += [f"{dashes}{name}={value}"] if together else [f"{dashes}{name}", value]
    options = read(*arguments)
    for name in VALUED:
        assert options.values(name) == tuple(value for each, value in given_values if each == name)
        assert (name in options) == bool(options.values(name))


def test_what_follows_an_option_is_its_value_whatever_it_looks_like() -> None:
    assert read("--topic", "--help").given == {"topic": ("--help",)}
    assert read("--topic=", "-x").given == {"topic": ("-x",)}


def test_flags_need_no_value_and_pass_over_one() -> None:
    assert read("--all=no", "-help").given == {"all": (), "help": ()}


def test_what_is_no_option_is_passed_over() -> None:
    assert read("stray", "-", "--all", "--", "--nonsense").given == {"all": ()}


@pytest.mark.parametrize(
    ("argument", "complaint"),
    [
        ("--nonsense", "nonsense is not a recognized option"),
        ("--nonsense=1", "nonsense is not a recognized option"),
        ("-nonsense", "n is not a recognized option"),
        ("--top", "top is not a recognized option"),
        ("--=x", " is not a recognized option"),
        ("-=x", "= is not a recognized option"),
        ("--topic", "Option topic requires an argument"),
    ],
)
def test_what_is_refused(argument: str, complaint: str) -> None:
    with pytest.raises(ToolError) as refused:
        read(argument)
    assert refused.value.lines == (complaint,)


def test_two_values_where_one_is_asked_for() -> None:
    options = read("--topic", "1", "--topic", "2")
    with pytest.raises(ToolError, match=r"^Found multiple arguments for option topic, but you asked for only one$"):
        options.value("topic", str)
    with pytest.raises(ValueError, match="invalid literal"):
        read("--topic", "1", "--topic", "x").value("topic", int)
    assert read("--topic", "7").value("topic", int) == 7
    assert read().value("topic", int) is None
