"""The stories of KIP-101, KIP-279 and KIP-320: what went wrong then goes wrong by the older protocols, and only so."""

import sys

import pytest

from tests.replication.cluster.fetcher.scenarios import (
    CURRENT,
    OLDER,
    PAGE,
    SCENARIOS,
    Protocol,
    Scenario,
    page_with_section,
)

BAD = {"lost", "forked"}


@pytest.mark.parametrize("protocol", [*OLDER, *CURRENT], ids=lambda each: each.name)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.title)
def test_each_story_ends_as_the_designs_tell(scenario: Scenario, protocol: Protocol) -> None:
    outcome = scenario.play(protocol)[-1]
    assert (outcome in BAD) is (protocol.name in scenario.fails), outcome
    assert outcome in BAD or outcome in {"kept", "the same"}


def test_the_page_shows_what_comes_of_them() -> None:
    page = PAGE.read_text()
    sys.stdout.write(page_with_section(page))
    assert page == page_with_section(page), "run python -m tests.replication.cluster.fetcher.scenarios"
