"""What may be asked for; tests beside Kafka's own tool are in test_elections_against_kafka.py."""

import os
from pathlib import Path

import pytest

from replication.cluster.operations.election_options import FLAGS, VALUED, ElectionOptions
from replication.cluster.operations.tool_error import ToolError
from replication.cluster.operations.tool_options import ToolOptions
from replication.wire.messages.elect_leaders import ElectionType

REQUIRED = ("--bootstrap-server", "broker1:9092", "--election-type", "preferred")
CHOICE = "One and only one of the following options is required: topic, all-topic-partitions, path-to-json-file"


def read(*arguments: str) -> ElectionOptions:
    return ElectionOptions.of(ToolOptions.read(arguments, VALUED, FLAGS))


def test_one_partition() -> None:
    options = read(*REQUIRED, "--topic", "orders", "--partition", "+3", "--command-config", "my.properties")
    assert (options.bootstrap, options.election_type) == ("broker1:9092", ElectionType.PREFERRED)
    assert (options.topic, options.partition, options.all_topic_partitions) == ("orders", 3, False)
    assert (options.command_config, options.admin_config) == (Path("my.properties"), None)
    assert (options.dry_run, options.json, options.log_dir) == (False, False, ())


@pytest.mark.parametrize(
    ("text", "number"), [("-2147483648", -(2**31)), ("0" * 5_000 + "7", 7), ("-0", 0), ("2147483647", 2**31 - 1)]
)
def test_numbers_of_partitions_are_taken_as_java_takes_them(text: str, number: int) -> None:
    assert read(*REQUIRED, "--topic", "orders", "--partition", text).partition == number


def test_a_topic_that_is_no_text_has_what_is_none_replaced() -> None:
    assert read(*REQUIRED, "--topic", os.fsdecode(b"a\xffb"), "--partition", "0").topic == "a\N{REPLACEMENT CHARACTER}b"


def test_those_in_a_file() -> None:
    options = read(*REQUIRED[:2], "--election-type=UnClean", "--path-to-json-file", "a.json", "--admin.config", "old")
    assert (options.election_type, options.path_to_json_file) == (ElectionType.UNCLEAN, Path("a.json"))
    assert (options.command_config, options.admin_config) == (None, Path("old"))


def test_all_of_them_beforehand() -> None:
    directories = ("--log-dir", "1=a", "--log-dir", "b")
    options = read("--bootstrap", "b:1", *REQUIRED[2:], "--all-topic-partitions", "--dry-run", *directories, "--json")
    assert (options.bootstrap, options.all_topic_partitions, options.log_dir) == ("b:1", True, ("1=a", "b"))
    assert options.dry_run
    assert options.json


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "Missing required option(s): bootstrap-server, election-type"),
        (REQUIRED[2:], "Missing required option(s): bootstrap-server"),
        (REQUIRED[:2], "Missing required option(s): election-type"),
        (REQUIRED, CHOICE),
        ((*REQUIRED, "--partition", "0"), CHOICE),
        ((*REQUIRED, "--all-topic-partitions", "--path-to-json-file", "a"), CHOICE),
        ((*REQUIRED, "--topic", "a"), "Missing required option(s): partition"),
        (
            (*REQUIRED, "--all-topic-partitions", "--partition", "0"),
            "Option partition is only allowed if topic is used",
        ),
        (
            (*REQUIRED[:2], "--election-type", "both", "--topic", "a", "--partition", "x"),
            "Cannot parse argument 'both' of option election-type",
        ),
        ((*REQUIRED, "--topic", "a", "--partition", "x"), "Cannot parse argument 'x' of option partition"),
        (
            (*REQUIRED, "--topic", "a", "--partition", "2147483648"),
            "Cannot parse argument '2147483648' of option partition",
        ),
        (
            (*REQUIRED, "--topic", "a", "--partition", "9" * 5_000),
            f"Cannot parse argument '{'9' * 5_000}' of option partition",
        ),
        ((*REQUIRED, "--all-topic-partitions", "--log-dir", "a"), "Option log-dir is only allowed if dry-run is used"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(ToolError) as refused:
        read(*arguments)
    assert refused.value.lines == (complaint,)


def test_two_configurations_are_refused_with_all_options_shown() -> None:
    with pytest.raises(ToolError) as refused:
        read(*REQUIRED, "--admin.config", "a", "--command-config", "b")
    assert refused.value.message == 'Option "[admin.config]" can\'t be used with option "[command-config]"'
    assert refused.value.reason == "`epochlog elect --help` shows all options"
