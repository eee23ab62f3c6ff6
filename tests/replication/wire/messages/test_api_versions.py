"""ApiVersions in all versions, and the highest version that both sides speak."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.wire.errors import UnsupportedVersionError
from replication.wire.messages import api_versions
from replication.wire.messages.api_versions import ApiVersions, ApiVersionsRequest, ApiVersionsResponse

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


# What Kafka 4.4.0's own classes write.
REQUEST = ApiVersionsRequest(
    client_software_name="epochlog", client_software_version="0.4", cluster_id="MkU3OEVBNTcwNTJENDM2Qg", node_id=7
)
SOFTWARE = "09 65706f63686c6f67 04 302e34"
REQUESTS = {
    0: "",
    2: "",
    3: f"{SOFTWARE} 00",
    4: f"{SOFTWARE} 00",
    5: f"{SOFTWARE} 17 4d6b55334f4556424e5463774e544a454e444d325167 00000007 00",
}
RESPONSE = ApiVersionsResponse(
    versions=ApiVersions({1: range(4, 19), 18: range(6)}),
    throttle_time_ms=9,
    supported_features={"metadata.version": range(7, 31), "kraft.version": range(2)},
    finalized_features_epoch=42,
    finalized_features={"metadata.version": range(7, 30)},
    zk_migration_ready=True,
)
APIS = "0000 00000002 0001 0004 0012  0012 0000 0005"
FLEXIBLE = "0000 03 0001 0004 0012 00  0012 0000 0005 00  00000009 04"
METADATA_VERSION, KRAFT_VERSION = "11 6d657461646174612e76657273696f6e", "0e 6b726166742e76657273696f6e"
FINALIZED = f"01 08 000000000000002a  02 17 02 {METADATA_VERSION} 001d 0007 00  03 01 01"
RESPONSES = {
    0: APIS,
    1: f"{APIS} 00000009",
    2: f"{APIS} 00000009",
    4: f"{FLEXIBLE} 00 2a 03 {METADATA_VERSION} 0007 001e 00  {KRAFT_VERSION} 0000 0001 00  {FINALIZED}",
    5: f"{FLEXIBLE} 00 2a 03 {METADATA_VERSION} 0007 001e 00  {KRAFT_VERSION} 0000 0001 00  {FINALIZED}",
}


@pytest.mark.parametrize("version", REQUESTS)
def test_requests_are_written_and_read_as_by_kafka(version: int) -> None:
    data = bytes.fromhex(REQUESTS[version])
    assert api_versions.REQUEST.write(REQUEST, version) == data
    assert api_versions.REQUEST.write(api_versions.REQUEST.read(data, version), version) == data
    assert (api_versions.REQUEST.read(data, version) == REQUEST) is (version == 5)


@pytest.mark.parametrize("version", RESPONSES)
def test_responses_are_written_and_read_as_by_kafka(version: int) -> None:
    data = bytes.fromhex(RESPONSES[version])
    assert api_versions.RESPONSE.write(RESPONSE, version) == data
    read = api_versions.RESPONSE.read(data, version)
    assert read.versions == RESPONSE.versions
    assert (read == RESPONSE) is (version >= 4)


def test_version_3_leaves_out_features_that_are_supported_from_0_on() -> None:
    """As a broker does, since older clients take a lowest level of 0 for an error (KAFKA-17011)."""
    read = api_versions.RESPONSE.read(api_versions.RESPONSE.write(RESPONSE, 3), 3)
    assert read.supported_features == {"metadata.version": range(7, 31)}
