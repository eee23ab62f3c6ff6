"""Topic partitions and the names of their directories."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.errors import InvalidDirectoryNameError
from logstore.topic_partition import (
    DirectoryMark,
    TopicPartition,
    is_partition_directory_name,
    parse_directory_name,
    partition_standing_alone,
)

TOPICS = st.from_regex(r"[a-zA-Z0-9_-][a-zA-Z0-9._-]{0,80}", fullmatch=True)


@given(TOPICS, st.integers(0, 2**31 - 1))
def test_a_directory_is_named_after_its_partition(topic: str, partition: int) -> None:
    topic_partition = TopicPartition(topic, partition)
    assert parse_directory_name(str(topic_partition)) == (topic_partition, DirectoryMark.NONE)


@given(TOPICS, st.integers(0, 2**31 - 1), st.sampled_from(list(DirectoryMark)[1:]))
def test_marked_directories_carry_an_id_and_the_mark(topic: str, partition: int, mark: DirectoryMark) -> None:
    name = f"{topic}-{partition}.7a6f01d4c1d84a1fa1a1f6a3c60b8c07-{mark.value}"
    assert parse_directory_name(name) == (TopicPartition(topic, partition), mark)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "orders",
        "-0",
        "orders-",
        "orders-x",
        "orders--",
        "..-0",
        "or ders-0",
        "orders-99999999999",
        "x" * 250 + "-0",
        "orders-2147483648",
        "orders-0.abc-gone",
        "orders.abc-delete",
        "orders-٣",
        "orders-0\n",
        "a/b-0",
    ],
)
def test_other_names_are_refused(name: str) -> None:
    assert not is_partition_directory_name(name)
    with pytest.raises(InvalidDirectoryNameError):
        parse_directory_name(name)


def test_a_topic_may_look_like_a_partition() -> None:
    assert parse_directory_name("orders-1-2").topic_partition == TopicPartition("orders-1", 2)
    assert is_partition_directory_name("__transaction_state-0")


@pytest.mark.parametrize(
    ("name", "topic", "partition"),
    [
        ("orders-2", "orders", 2),
        ("orders-2.7a6f01d4c1d84a1fa1a1f6a3c60b8c07-delete", "orders", 2),
        ("orders", "orders", 0),
        ("orders-x", "orders-x", 0),
        ("or ders\n-0", "or_ders_-0", 0),
        ("x" * 255, "x" * 249, 0),
    ],
)
def test_a_log_that_stands_alone_may_have_any_name(name: str, topic: str, partition: int) -> None:
    assert partition_standing_alone(name) == TopicPartition(topic, partition)


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_what_names_no_directory_names_no_log(name: str) -> None:
    with pytest.raises(InvalidDirectoryNameError, match="pass a path that ends in its name"):
        partition_standing_alone(name)
