"""Brokers that were not named, and whether what they have may decide anything."""

from typing import Any

import pytest

from replication.copies.audit.judgement.not_given import NotGiven, not_given, unread_in_words


def document(
    *,
    elected: str | None = "a",
    unclean: bool = False,
    lost: int = 0,
    damage: str | None = None,
    untold: str = "",
    recovering: bool = False,
) -> dict[str, Any]:
    """Two brokers at hand, the first of which lacks so many records, and a third."""
    candidates = [
        {"replica": "a", "lost": {"records": lost}, "damage": damage},
        {"replica": "b", "lost": {"records": 9}, "damage": None},
    ]
    together = [{"replica": elected, "unclean": unclean}]
    election = {"why_unknown": untold or None, "replicas": [1, 2, 3], "together": together, "is_recovering": recovering}
    partition = {"topic": "t", "partition": 0, "election": election, "candidates": candidates}
    return {
        "snapshots": [{"name": "a", "node_id": 1}, {"name": "b", "node_id": 2}, {"name": "c", "node_id": None}],
        "partitions": [partition],
    }


@pytest.mark.parametrize(
    ("given", "is_decided"),
    [
        (document(), True),
        (document(unclean=True), False),
        (document(elected=None), False),
        (document(elected="b"), False),
        (document(lost=1), False),
        (document(damage="torn"), False),
        (document(recovering=True), False),
    ],
)
def test_only_who_lacks_nothing_and_is_elected_cleanly_has_everything(
    given: dict[str, Any], *, is_decided: bool
) -> None:
    [broker] = not_given(given)
    assert (broker.broker, broker.partitions) == (3, ["t-0"])
    assert broker.undecided == ([] if is_decided else ["t-0"])
    assert [*unread_in_words([broker])] == ([] if is_decided else ["what only broker 3 has, which was not read"])


def test_where_the_files_do_not_tell_who_has_replicas_nobody_is_missed() -> None:
    assert not_given(document(untold="no metadata")) == []


def test_several_are_listed() -> None:
    brokers = [NotGiven(3, ["t-0"], ["t-0"]), NotGiven(4, ["t-0"], []), NotGiven(5, ["t-0"], ["t-0"])]
    assert [*unread_in_words(brokers)] == ["what only broker 3 or broker 5 has, which was not read"]
