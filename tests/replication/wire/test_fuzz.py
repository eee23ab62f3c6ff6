"""Answers changed at random, through framing and decoding: what comes out is an answer or a MalformedResponseError.

Nothing else is raised, nothing hangs, and memory stays within some multiple of what was received.
"""

import random
import resource
from collections.abc import Callable
from typing import Any

import pytest

from replication.wire.client.exchange import Exchange
from replication.wire.encoding.framing import FrameReader
from replication.wire.encoding.kio_messages import request_classes, response_class, served_versions
from replication.wire.errors import MalformedResponseError
from replication.wire.messages.api_versions import ApiVersions
from replication.wire.messages.metadata import MetadataRequest
from tests.campaign import Campaign
from tests.replication.wire.fake_broker import framed
from tests.replication.wire.instances import instance
from tests.replication.wire.instances import response_classes as all_response_classes
from tests.replication.wire.questions import QUESTIONS

CAMPAIGN = Campaign("fuzzed responses", full=200_000, share=6_000)
LIMIT = 1_000_000
MEMORY_KIB = 200_000

LIES = (
    b"\x7f\xff\xff\xff",
    b"\x80\0\0\0",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\x07",
    b"\x80\x80\x80\x80\x01",
    b"\xff" * 12,
    b"\x00\xff\xff\xff",
)


def _overwrite(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(len(data))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])


def _cut(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(1, len(data) + 1) :]


def _remove(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(data))
    del data[start : start + rng.randint(1, 8)]
    data += b"" if data else b"\0"


def _lie(data: bytearray, rng: random.Random) -> None:
    """Put an extreme length in a place."""
    lie = rng.choice(LIES)
    start = rng.randrange(len(data))
    data[start : start + rng.choice([0, len(lie)])] = lie


def _repeat(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(data))
    data[start:start] = data[start : start + rng.randint(1, 64)]


CHANGES: tuple[Callable[[bytearray, random.Random], None], ...] = (_overwrite, _overwrite, _cut, _remove, _lie, _repeat)


def _asked(exchange: Exchange, rng: random.Random, kinds: list[Any]) -> Any:
    """Ask something at random, and return kio's class of the answer."""
    if rng.random() < 0.3:
        kind = rng.choice(kinds)
        module = request_classes(kind.__api_key__, kind.__version__)
        request = getattr(module, kind.__name__.removesuffix("Response") + "Request")
        exchange.versions = None
        exchange.ask(instance(request, rng))
        return kind
    key = rng.choice([key for key in sorted(QUESTIONS) if served_versions(key)])
    request, versions = QUESTIONS[key]
    version = rng.choice(versions)
    exchange.versions = ApiVersions({key: range(version, version + 1)})
    exchange.ask(request)
    return response_class(key, max(version, served_versions(key).start))


def _received(exchange: Exchange, stream: bytes) -> Any:
    """Let the bytes arrive, as far as they are asked for."""
    reader = FrameReader(LIMIT)
    position = 0
    while position < len(stream):
        room = reader.wanted()
        piece = stream[position : position + len(room)]
        room[: len(piece)] = piece
        position += len(piece)
        frame = reader.received(len(piece))
        if frame is not None:
            return exchange.answer(frame)
    return None


def _peak_memory_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_random_changes_of_answers_end_in_answers_or_in_our_error() -> None:
    rng = random.Random(CAMPAIGN.seed)
    kinds = all_response_classes()
    refused = 0
    memory = _peak_memory_kib()
    for _ in range(CAMPAIGN.count):
        exchange = Exchange("fuzz")
        answer = bytearray(framed(0, instance(_asked(exchange, rng, kinds), rng)))
        # The size is right more often than not, so that what follows it is looked at.
        body = answer[4:] or bytearray(1)
        for _ in range(rng.randint(1, 4)):
            rng.choice(CHANGES)(body, rng)
        size = answer[:4] if rng.random() < 0.1 else len(body).to_bytes(4, "big")
        try:
            _received(exchange, bytes(size + body))
        except MalformedResponseError:
            refused += 1
    CAMPAIGN.report(CAMPAIGN.count, f"{refused:,} refused")
    assert 0 < refused < CAMPAIGN.count
    assert _peak_memory_kib() - memory < MEMORY_KIB


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5])
def test_an_answer_too_short_for_its_header_is_malformed(size: int) -> None:
    exchange = Exchange("fuzz")
    exchange.ask(MetadataRequest(topics=None))
    with pytest.raises(MalformedResponseError):
        exchange.answer(memoryview(bytes(size)))
