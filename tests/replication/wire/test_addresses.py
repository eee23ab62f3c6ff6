"""Addresses as people write them."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.wire.addresses import Address, parse_address, parse_addresses
from replication.wire.errors import InvalidAddressError

hosts = (
    st.from_regex(r"[a-zA-Z0-9]([a-zA-Z0-9.-]{0,60}[a-zA-Z0-9])?", fullmatch=True)
    | st.ip_addresses(v=4).map(str)
    | st.ip_addresses(v=6).map(ipaddress.IPv6Address.__str__)
)
addresses = st.builds(Address, hosts, st.integers(1, 65_535))


@given(st.lists(addresses, min_size=1))
def test_what_is_written_is_read_again(written: list[Address]) -> None:
    assert parse_addresses(",".join(map(str, written))) == tuple(written)
    assert parse_addresses(" , ".join(map(str, written)) + ",") == tuple(written)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "it is empty"),
        (" , ", "it is empty"),
        ("broker", "the port is missing"),
        ("broker:", "a host and a port are expected"),
        (":9092", "a host and a port are expected"),
        ("broker:kafka", "a host and a port are expected"),
        ("broker:0", "between 1 and 65535"),
        ("broker:65536", "between 1 and 65535"),
        ("::1:9092", "needs brackets"),
        ("[::1]", "a host and a port are expected"),
        ("PLAINTEXT://broker:9092", "remove the listener's name or the scheme"),
        ("bro ker:9092", "a host and a port are expected"),
    ],
)
def test_what_is_wrong_is_said(text: str, fault: str) -> None:
    with pytest.raises(InvalidAddressError, match=fault):
        parse_addresses(text)


def test_the_wrong_one_of_several_is_named() -> None:
    with pytest.raises(InvalidAddressError, match="'b' is not an address: the port is missing"):
        parse_addresses("a:1,b,c:3")


@given(st.text(max_size=30))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    try:
        address = parse_address(text)
    except InvalidAddressError:
        return
    assert parse_address(str(address)) == address
