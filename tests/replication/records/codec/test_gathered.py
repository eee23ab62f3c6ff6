"""What is written in parts is what is written at once, and large views in it are not copies."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore import TopicPartition
from replication.records.codec.gathered import LEAST_VIEW, Gathered
from replication.wire.encoding.kio_messages import response_class, served_versions
from replication.wire.error_code import ErrorCode
from replication.wire.errors import MalformedResponseError
from replication.wire.messages import fetch_form
from replication.wire.messages.apis import _OURS
from replication.wire.messages.fetch import FetchedPartition, FetchResponse
from tests.campaign import run_seed
from tests.replication.wire.by_kio import kio_bytes
from tests.replication.wire.instances import instance
from tests.replication.wire.strategies import TOPIC_IDS

sizes = st.integers(0, 40) | st.integers(LEAST_VIEW - 2, LEAST_VIEW + 2)
views_or_bytes = st.lists(st.tuples(sizes, st.booleans()), max_size=8)


@given(views_or_bytes)
def test_parts_make_up_what_was_written(pieces: list[tuple[int, bool]]) -> None:
    out, expected = Gathered(), b""
    for number, (size, is_view) in enumerate(pieces):
        piece = bytes([number]) * size
        if is_view:
            out.add_view(memoryview(piece))
        else:
            out += piece
        expected += piece
    assert b"".join(out.parts()) == expected


@given(views_or_bytes, st.sampled_from(range(4, 19)))
def test_a_fetch_is_answered_in_parts_as_it_is_at_once(pieces: list[tuple[int, bool]], version: int) -> None:
    log = bytes(range(256)) * 64
    topics = sorted(TOPIC_IDS)
    partitions = {
        TopicPartition(topics[number % len(topics)], number): FetchedPartition(
            ErrorCode.NONE, number, records=memoryview(log)[:size] if is_view else log[:size]
        )
        for number, (size, is_view) in enumerate(pieces)
    }
    response = FetchResponse(partitions=partitions, topic_ids=TOPIC_IDS)
    parts = fetch_form.RESPONSE.write_parts(response, version)
    assert b"".join(parts) == fetch_form.RESPONSE.write(response, version)
    views = [len(part) for part in parts if isinstance(part, memoryview) and part.obj is log]
    assert sorted(views) == sorted(size for size, is_view in pieces if is_view and size >= LEAST_VIEW)


# Those that another library can write: it does not have what a controller of the ZooKeeper era sends to brokers.
@pytest.mark.parametrize("api", [api for api in _OURS.values() if served_versions(api.key)], ids=lambda api: api.name)
def test_every_answer_is_written_in_parts_as_it_is_at_once(api: Any) -> None:
    rng = random.Random(f"{run_seed()} {api.name}")
    version = max(served_versions(api.key) or ())
    written = 0
    for _ in range(20):
        try:
            message = api.response.read(kio_bytes(instance(response_class(api.key, version), rng)), version)
        except MalformedResponseError:
            continue
        assert b"".join(api.response.write_parts(message, version)) == api.response.write(message, version)
        written += 1
    assert written > 0
