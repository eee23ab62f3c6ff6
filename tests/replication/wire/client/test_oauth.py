"""Tokens: when another is asked for, by what request, and what goes wrong with that."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.wire.client.bearer_token import BearerToken, TokenHolder
from replication.wire.client.oauth import BearerLogin, OAuthSettings
from replication.wire.client.sasl import sasl_client
from replication.wire.errors import AuthenticationFailedError, InvalidSettingsError
from tests.oracle.cluster import free_port
from tests.replication.wire.token_server import CLIENT, SECRET, TokenServer, unsecured_token


@pytest.fixture
def server() -> Iterator[TokenServer]:
    with TokenServer() as server:
        yield server


def settings(server: TokenServer, **more: Any) -> OAuthSettings:
    return OAuthSettings(token_endpoint=server.url, client_id=CLIENT, client_secret=SECRET, **more)


# When


@given(obtained=st.floats(0, 1e9), lives=st.floats(1, 1e6), part=st.floats(0, 2) | st.floats(0.75, 1.05))
def test_another_token_is_due_after_four_fifths_of_a_life_and_the_old_is_valid_until_its_end(
    obtained: float, lives: float, part: float
) -> None:
    token = BearerToken("a", obtained, lives)
    now = obtained + part * lives
    assert token.is_due(now) == (part >= 0.8) or abs(part - 0.8) < 1e-6
    assert token.is_valid(now) == (part < 1) or abs(part - 1) < 1e-6
    assert token.is_due(now) or token.is_valid(now)


def test_a_token_serves_until_it_is_due_and_beyond_only_where_no_other_can_be_had() -> None:
    clock = [0.0]
    given: list[BearerToken] = []
    gone = False

    def obtain() -> BearerToken:
        if gone:
            raise AuthenticationFailedError("gone")
        given.append(BearerToken(f"token-{len(given)}", clock[0], 100))
        return given[-1]

    held = TokenHolder()
    served = {}
    for moment in (0, 79, 80, 159):
        clock[0] = moment
        served[moment] = held.get(obtain, lambda: clock[0]).value
    assert served == {0: "token-0", 79: "token-0", 80: "token-1", 159: "token-1"}
    gone = True
    clock[0] = 179
    assert held.get(obtain, lambda: clock[0]).value == "token-1"
    clock[0] = 180
    with pytest.raises(AuthenticationFailedError):
        held.get(obtain, lambda: clock[0])
    gone = False
    assert held.get(obtain, lambda: clock[0]).value == "token-2"


@pytest.mark.parametrize(
    ("response", "lives"),
    [
        ({"access_token": "a", "expires_in": 300}, 300),
        ({"access_token": "a", "expires_in": -1}, 0),
        ({"access_token": "a"}, 0),
        ({"access_token": "a.b.c"}, 0),
        ({"access_token": "a.W10.c"}, 0),  # []
        ({"access_token": "a.eyJleHAiOjEwNjB9.c"}, 60),  # {"exp":1060}
        ({"access_token": "a.eyJleHAiOjEwNjB9.c", "expires_in": 30}, 30),
        ({"access_token": "a.eyJleHAiOjEwNjB9.c", "expires_in": True}, 60),
    ],
)
def test_how_long_a_token_lives(response: object, lives: float) -> None:
    assert BearerToken.of(response, 7, unix_time=1_000) == BearerToken(
        response["access_token"],  # type: ignore[index]
        7,
        lives,
    )


# By what


def test_the_endpoint_is_asked_once_for_all_connections(server: TokenServer) -> None:
    oauth = settings(server, scope="kafka read")
    first = oauth.login()
    assert oauth.login() == first
    assert server.asked == [
        ("mirror:client%3Asecret+%2B%26", {"grant_type": ["client_credentials"], "scope": ["kafka read"]})
    ]


def test_a_token_that_does_not_live_is_asked_for_anew_each_time(server: TokenServer) -> None:
    server.lives = 0
    oauth = settings(server)
    oauth.login()
    oauth.login()
    assert [form for _, form in server.asked] == [{"grant_type": ["client_credentials"]}] * 2


# What goes wrong


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            (401, {"error": "invalid_client", "error_description": "no such client"}),
            "refuses: 401 Unauthorized: invalid_client: no such client; check the token endpoint's URL",
        ),
        ((503, b"<html>"), "refuses: 503 Service Unavailable; check"),
        ((400, ["error"]), "refuses: 400 Bad Request"),
        ((200, b"<html>"), "answers with what is not JSON"),
        ((200, b"\xff"), "answers with what is not JSON"),
        ((200, b"[" * 100_000), "answers with what is not JSON"),
        ((200, {"token": "a"}), "gives no token: it has no access_token"),
        ((200, []), "gives no token: it has no access_token"),
        ((200, {"access_token": "a\u0001auth=Bearer b"}), "gives no token: its access_token has characters"),
    ],
)
def test_an_endpoint_that_gives_no_token(server: TokenServer, answer: tuple[int, Any], message: str) -> None:
    server.answer = answer
    with pytest.raises(AuthenticationFailedError) as refused:
        settings(server).login()
    told = str(refused.value)
    assert told.startswith(f"authentication failed: the token endpoint {server.url} {message}")
    assert SECRET not in told


def test_the_secret_is_not_sent_elsewhere(server: TokenServer) -> None:
    with TokenServer() as other:
        server.answer, server.headers = (302, {}), {"Location": other.url}
        with pytest.raises(AuthenticationFailedError, match="refuses: 302 Found"):
            settings(server).login()
        assert other.asked == []


def test_an_endpoint_that_does_not_answer() -> None:
    url = f"http://127.0.0.1:{free_port()}/token"
    with pytest.raises(AuthenticationFailedError, match=rf"{url} does not answer: .*Connection refused"):
        OAuthSettings(token_endpoint=url, client_id=CLIENT, client_secret=SECRET).login()


def test_an_endpoint_that_is_gone_does_not_matter_while_the_token_lives(server: TokenServer) -> None:
    oauth = settings(server)
    first = oauth.login()
    server.stop()
    assert oauth.login() == first


@pytest.mark.parametrize("url", ["file:///etc/passwd", "broker1:8080", "https://", ""])
def test_what_is_no_endpoint(url: str) -> None:
    with pytest.raises(InvalidSettingsError, match="is not a URL of https or http"):
        OAuthSettings(token_endpoint=url, client_id=CLIENT, client_secret=SECRET)


def test_neither_secret_nor_token_is_shown(server: TokenServer) -> None:
    oauth = settings(server)
    login = oauth.login()
    assert SECRET not in repr(oauth)
    assert login.token not in repr(oauth) + repr(login)


# To brokers


def test_the_token_is_the_first_message_and_the_last() -> None:
    client = sasl_client(BearerLogin("mirror", "a.b.c"))
    assert next(client) == b"n,,\x01auth=Bearer a.b.c\x01\x01"
    with pytest.raises(StopIteration):
        client.send(b"")


def test_a_broker_that_refuses_the_token_is_asked_to_say_so() -> None:
    client = sasl_client(BearerLogin("mirror", unsecured_token(1)))
    next(client)
    assert client.send(b'{"status":"invalid_token"}') == b"\x01"
    with pytest.raises(AuthenticationFailedError, match="the broker refuses the token of mirror"):
        client.send(b"")
