"""A verdict as one sentence: what is wrong, what is lost under whom, and nothing that is not known."""

from typing import Any

import pytest

from replication.copies.audit.judgement.verdict_sentence import (
    forks_in_words,
    is_lost_anyway,
    listed,
    records_in_words,
    verdict_in_words,
)
from tests.replication.copies.audit.report.documents import (
    agreeing,
    candidate,
    elects,
    fork,
    forked,
    pair,
    span,
    untold,
)


def doubted(**changes: Any) -> dict[str, Any]:
    """Copies on broker-1 and broker-2, of which broker-2's is damaged."""
    partition = {**agreeing("orders", 0), "verdict": "damaged", "verdicts": ["damaged"], **changes}
    partition["candidates"][1]["damage"] = "damaged, 3 errors in its log"
    return partition


def silent(*diverging: tuple[str, str], also: str | None = None) -> dict[str, Any]:
    """Copies of three brokers, of which some pairs hold different records from offset 17 on."""
    names = ("broker-1", "broker-2", "broker-3")
    pairs = [
        pair(leader, follower, "identical", 100, 0) for leader in names for follower in names if leader != follower
    ]
    for each in pairs:
        if (each["leader"], each["follower"]) in diverging or (each["follower"], each["leader"]) in diverging:
            each["verdicts"] = ["silent-divergence", *([also] if also else [])]
            each["first_difference"] = 17
    return {**agreeing("orders", 0), "verdicts": ["silent-divergence"], "pairs": pairs}


def test_a_fork_says_what_each_choice_loses_and_when_it_was_written() -> None:
    assert verdict_in_words(forked()) == (
        "Leaders of epochs 1 and 2 both wrote from offset 300 on: if broker-2 leads, as Kafka elects, 120 acknowledged "
        "records, written 2023-11-14 22:13:20 to 22:14:20 UTC, are lost; if broker-1 leads, 50 records, acknowledged "
        "with acks=1, if at all, written 2023-11-14 22:13:20 to 22:14:20 UTC, are lost"
    )


def test_one_choice_is_said_once() -> None:
    told = verdict_in_words({**elects(forked(), "broker-1"), "choices_differ": False})
    assert told.count(" leads") == 1
    assert "if broker-1 leads, as Kafka elects, 50 records" in told


def test_where_the_files_do_not_tell_whom_kafka_elects_the_longest_log_is_called_that() -> None:
    told = verdict_in_words(untold(forked()))
    assert "the files do not show whom Kafka elects; if broker-2 leads, with the latest leader epoch and the " in told
    assert "as Kafka" not in told


def test_each_leader_that_kafka_may_elect_is_named() -> None:
    told = verdict_in_words(elects(forked(), "broker-2", "broker-3"))
    assert "if broker-2 leads, as Kafka may elect, 120 acknowledged" in told
    assert "if broker-3 leads, as Kafka may elect, 170 records, 120 of them acknowledged" in told
    assert "if broker-1 leads, 50 records" in told


def test_that_kafka_elects_nobody_is_said() -> None:
    assert "Kafka elects nobody; if broker-1 leads, 50 records" in verdict_in_words(elects(forked(), None))


def test_who_is_known_to_have_everything_and_is_not_at_hand_comes_first() -> None:
    told = verdict_in_words(elects(forked(), None, absent=(9,)))
    assert (
        "offset 300 on: broker 9 is the only one that is known to have everything of payments-0: find its disk" in told
    )


def test_what_is_lost_under_every_leader_is_no_matter_of_choice() -> None:
    partition = doubted()
    partition["candidates"] = [candidate(f"broker-{n}", 0, 100, span(9, 91), span(9, 91)) for n in (1, 2)]
    assert is_lost_anyway(partition)
    assert "whichever copy leads, 9 acknowledged records, written" in verdict_in_words(partition)
    partition["candidates"][1]["lost"] = span(9, 90)
    assert not is_lost_anyway(partition), "as many, but others"


def test_a_damaged_copy_is_named_and_nothing_is_called_certain() -> None:
    assert verdict_in_words(doubted()) == (
        "The copy on broker-2 is damaged: if broker-1 leads, as Kafka elects, no loss was found; what the damaged or "
        "differing parts held is not known"
    )
    incomplete = doubted(verdict="missing", verdicts=["missing"])
    assert verdict_in_words(incomplete).startswith("The copy on broker-2 is incomplete: ")


@pytest.mark.parametrize(
    ("missing", "what"), [([], "parts"), (["broker-3"], "copy"), (["broker-3", "broker-4"], "copies")]
)
def test_what_is_only_missing_is_not_called_damaged(missing: list[str], what: str) -> None:
    partition = {**agreeing("orders", 0, "missing"), "missing": missing}
    assert verdict_in_words(partition).endswith(f"no loss was found; what the missing {what} held is not known")


def test_files_that_contradict_each_other_are_no_ones_fault() -> None:
    partition = {**agreeing("orders", 0), "verdicts": ["damaged"]}
    assert verdict_in_words(partition).startswith("Files of the copies contradict each other: ")


@pytest.mark.parametrize(
    ("diverging", "expected"),
    [
        (
            [("broker-1", "broker-3"), ("broker-2", "broker-3")],
            "The copy on broker-3 has different records than others",
        ),
        ([("broker-1", "broker-2")], "The copies on broker-1 and broker-2 have different records than each other"),
    ],
)
def test_silent_differences_name_who_stands_alone(diverging: list[tuple[str, str]], expected: str) -> None:
    told = verdict_in_words(silent(*diverging))
    assert told.startswith(f"{expected} under the same offsets and leader epochs, from offset 17 on: ")


def test_an_offset_that_may_be_another_differences_is_not_told() -> None:
    assert "17" not in verdict_in_words(silent(("broker-1", "broker-2"), also="missing"))


def test_what_was_not_read_leaves_open_what_is_lost() -> None:
    partition = {**forked(), "verdicts": ["unknown", "forked"], "unread": ["broker-4"], "recommended": None}
    told = verdict_in_words(partition)
    assert told.startswith("The copy on broker-4 could not be read whole, or changed meanwhile, and leaders of epochs")
    assert "what it held is not known; if broker-2 leads, as Kafka elects, 120" in told
    nothing = {**partition, "candidates": [], "kafkas_choice": None, "least_loss": None, "forks": []}
    assert verdict_in_words({**nothing, "unread": ["a", "b"]}).endswith("what they held is not known; no copy can lead")


def test_no_loss_is_not_called_none_where_a_copy_was_not_read() -> None:
    partition = {**agreeing("orders", 0), "verdicts": ["unknown"], "unread": ["broker-3"]}
    assert verdict_in_words(partition).endswith("no loss was found among the copies that were read")


def test_a_loss_that_is_not_known_is_not_a_number() -> None:
    partition = forked()
    for each in partition["candidates"]:
        each["lost"] = each["acknowledged"] = None
    told = verdict_in_words({**partition, "least_loss": None})
    assert told.endswith("if broker-2 leads, as Kafka elects, what is lost is not known")


def test_missing_copies_are_named_where_that_is_known() -> None:
    partition = {**agreeing("orders", 0), "verdicts": ["missing"], "missing": ["broker-3", "broker-4"]}
    assert verdict_in_words(partition).startswith("There is no copy on broker-3 and broker-4: ")
    assert verdict_in_words({**partition, "missing": [""]}).startswith("A copy is missing, whose is not known: ")


def test_what_needs_nothing_is_said_so() -> None:
    assert verdict_in_words(agreeing("orders", 0)) == (
        "No copy contradicts another: if broker-1 leads, as Kafka elects, nothing is lost"
    )
    assert verdict_in_words(agreeing("orders", 0, "lagging")).startswith("Some copies only lack the newest records: ")


@pytest.mark.parametrize(
    ("lost", "acknowledged", "expected"),
    [
        (span(1, 7), span(1, 7), "1 acknowledged record, written 2023-11-14 22:13:20 to 22:14:20 UTC"),
        (
            span(5, 7),
            span(2, 7),
            (
                "5 records, 2 of them acknowledged, the other 3 with acks=1, if at all, "
                "written 2023-11-14 22:13:20 to 22:14:20 UTC"
            ),
        ),
        ({**span(5, 7), "min_timestamp": None}, span(5, 7), "5 acknowledged records"),
    ],
)
def test_records_are_counted_with_their_times(
    lost: dict[str, Any], acknowledged: dict[str, Any], expected: str
) -> None:
    assert records_in_words(candidate("broker-1", 1, 9, lost, acknowledged)) == expected


def test_forks_are_said_once_for_all_copies_that_part_at_an_offset() -> None:
    one, other = (1, 1_700_000_000_000), (2, None)
    forks = [
        fork("broker-1", "broker-2", 300, one, other),
        fork("broker-2", "broker-3", 300, other, one),
        fork("broker-1", "broker-4", 200, one, (7, 1_700_000_000_000)),
    ]
    when = "2023-11-14 22:13:20 UTC"
    assert [*forks_in_words({"forks": forks})] == [
        f"at offset 200 broker-1 has epoch 1, written {when}; broker-4 has epoch 7, written {when}",
        f"at offset 300 broker-1 and broker-3 have epoch 1, written {when}; broker-2 has epoch 2",
    ]


def test_names_are_listed_as_in_a_sentence() -> None:
    assert [listed(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]
