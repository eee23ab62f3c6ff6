"""Which seeds a run of a campaign tries: its own, or those that somebody repeats."""

import os

from tests.campaign import Campaign


def seeds_of(campaign: Campaign, variable: str) -> range:
    """Return the campaign's seeds; an environment variable asks for others: `5`, or `5:3` for three from 5 on."""
    if variable in os.environ:
        first, _, count = os.environ[variable].partition(":")
        return range(int(first), int(first) + int(count or 1))
    first = campaign.seed * 1_000
    return range(first, first + campaign.count)
