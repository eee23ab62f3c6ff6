"""The highest version that both sides speak."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.protocol.errors import UnsupportedVersionError
from replication.protocol.messages.api_versions import ApiVersions

ranges = st.tuples(st.integers(0, 20), st.integers(0, 20)).map(lambda ends: range(min(ends), max(ends) + 1))


@given(ranges, ranges)
def test_the_highest_common_version_is_taken(ours: range, theirs: range) -> None:
    common = set(ours) & set(theirs)
    versions = ApiVersions({1: theirs})
    if common:
        assert versions.highest(1, "Fetch", ours) == max(common)
    else:
        with pytest.raises(UnsupportedVersionError, match="Fetch"):
            versions.highest(1, "Fetch", ours)


def test_the_error_names_the_api_and_both_ranges() -> None:
    with pytest.raises(UnsupportedVersionError, match=r"Fetch is supported in versions 0 to 3, .* in 4 to 18"):
        ApiVersions({1: range(4)}).highest(1, "Fetch", range(4, 19))
    with pytest.raises(UnsupportedVersionError, match="Fetch is supported in none"):
        ApiVersions({}).highest(1, "Fetch", range(4, 19))
