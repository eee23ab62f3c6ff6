"""Who coordinates a group or a transactional id is decided as Kafka decides it."""

import pytest

from replication.int32 import java_hash
from replication.node.other_coordinators import coordinating_partition


@pytest.mark.parametrize(
    ("text", "code"),
    [("", 0), ("orders", -1008770331), ("polygenelubricants", -(2**31)), ("\N{GRINNING FACE}", 1772899)],
)
def test_hashes_are_javas(text: str, code: int) -> None:
    assert java_hash(text) == code


def test_the_least_hash_has_no_absolute_value_in_java() -> None:
    assert coordinating_partition("polygenelubricants", 50) == 0
    assert coordinating_partition("orders", 50) == 1008770331 % 50
