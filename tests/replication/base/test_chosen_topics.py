"""Topics that are chosen by names or patterns."""

import pytest

from replication.base.chosen_topics import is_chosen


@pytest.mark.parametrize(
    ("topic", "names", "expected"),
    [
        ("orders", [], True),
        ("orders", ["orders"], True),
        ("orders-eu", ["orders"], False),
        ("orders-eu", ["payments", "orders*"], True),
        ("orders.eu", ["orders?eu"], True),
        ("ordersxeu", ["orders.eu"], False),
        ("Orders", ["orders"], False),
    ],
)
def test_a_name_or_pattern_matches_the_whole_name(topic: str, names: list[str], *, expected: bool) -> None:
    assert is_chosen(topic, names) is expected
