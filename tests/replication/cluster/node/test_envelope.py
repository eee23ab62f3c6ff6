"""What is passed on to the controller in an envelope is answered there as if the first who asked had come."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.cluster.node.envelope import answer_within, enclosed, read_principal, write_principal
from replication.cluster.node.unanswered import ANSWERED_BY_CONTROLLER, unanswered
from replication.cluster.standalone.quorum.envelopes import Envelopes
from replication.wire.encoding.kio_messages import read, request_class, write
from replication.wire.error_code import ErrorCode
from replication.wire.errors import MalformedResponseError
from replication.wire.messages import describe_quorum
from replication.wire.messages.apis import api_with
from replication.wire.messages.describe_quorum import DescribeQuorumRequest
from replication.wire.server.call import Call, Caller
from replication.wire.server.served_api import ServedApi
from tests.campaign import run_seed
from tests.replication.wire.instances import instance

APIS = [api for key in ANSWERED_BY_CONTROLLER if (api := api_with(key)) is not None]
CASES = [(api, version) for api in APIS for version in api.served]
BROKER = Call(0, Caller("192.0.2.9", "User:broker", "CONTROLLER"))


def asked(api: Any, version: int, rng: random.Random) -> bytes:
    """Return a random request; of a quorum there is but one question."""
    if api.key == describe_quorum.API_KEY:
        return bytes(api.request.write(DescribeQuorumRequest(), version))
    return write(instance(request_class(api.key, version), rng, items=2))


@pytest.mark.parametrize(("api", "version"), CASES, ids=lambda case: getattr(case, "name", str(case)))
def test_every_request_arrives_as_it_was_asked_and_its_answer_comes_back(api: Any, version: int) -> None:
    rng = random.Random(f"{run_seed()} {api.key} {version}")
    heard: list[tuple[Any, Call]] = []

    def answer(request: Any, call: Call) -> Any:
        heard.append((request, call))
        return unanswered(request, call.version, ErrorCode.POLICY_VIOLATION)

    controller = Envelopes({api.key: ServedApi(api.served, answer)})
    request = api.request.read(asked(api, version, rng), version)
    call = Call(version, Caller("192.0.2.1", "User:alice", "PLAINTEXT"), "admin")
    envelope = enclosed(api, request, call)
    opened = controller.answer(read(type(envelope), write(envelope)), BROKER)
    assert opened.error_code is ErrorCode.NONE
    ((arrived, told),) = heard
    assert api.request.write(arrived, version) == api.request.write(request, version)
    assert told == Call(version, Caller("192.0.2.1", "User:alice", "CONTROLLER"), "admin")
    back = answer_within(api, request, call, opened.response_data)
    expected = api.response.write_parts(unanswered(request, version, ErrorCode.POLICY_VIOLATION), version)
    assert b"".join(api.response.write_parts(back, version)) == b"".join(expected)


@given(st.text(max_size=20).filter(lambda kind: ":" not in kind), st.text(max_size=40))
def test_who_has_asked_is_told_whole(kind: str, name: str) -> None:
    assert read_principal(write_principal(f"{kind}:{name}")) == f"{kind}:{name}"


def test_another_requests_answer_is_refused() -> None:
    api = APIS[0]
    with pytest.raises(MalformedResponseError, match="correlation id 7"):
        answer_within(api, None, Call(api.served.start, Caller("127.0.0.1")), b"\0\0\0\x07")
