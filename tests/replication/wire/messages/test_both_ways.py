"""Requests and answers of each API and version, from our bytes to kio and from kio's to us; and anything else.

What is no message gives our errors alone, and takes no more memory than some multiple of its size.
"""

import random
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore import TopicPartition
from replication.wire.encoding.kio_messages import request_class, response_class, served_versions
from replication.wire.errors import (
    InvalidMessageError,
    MalformedRequestError,
    MalformedResponseError,
    UnsupportedRequestError,
)
from replication.wire.messages import fetch_form, produce
from replication.wire.messages.api import Api, MessageForm
from replication.wire.messages.apis import _OURS, api_of, api_with
from replication.wire.messages.fetch import FetchRequest, named
from replication.wire.messages.form import Form
from replication.wire.messages.produce import ProduceRequest
from tests.campaign import Campaign, run_seed
from tests.replication.wire.by_kio import kio_bytes, kio_reading
from tests.replication.wire.instances import instance
from tests.replication.wire.strategies import (
    TOPIC_IDS,
    allocate_producer_ids_requests,
    alter_partition_requests,
    api_versions_requests,
    assign_replicas_requests,
    broker_heartbeat_requests,
    broker_registration_requests,
    elect_leaders_requests,
    epoch_requests,
    fetch_requests,
    fetch_snapshot_requests,
    list_offsets_requests,
    metadata_requests,
    produce_requests,
)
from tests.replication.wire.test_fuzz import CHANGES

CAMPAIGN = Campaign("fuzzed messages", full=200_000, share=4_000)
REFUSALS = (MalformedRequestError, MalformedResponseError, UnsupportedRequestError)
BYTES_FOR_A_BYTE = 300
BYTES_FOR_A_MESSAGE = 50_000
SINCE_SESSIONS = 7
"""The first version of Fetch in which partitions can be forgotten."""
OTHER_APIS = (22, 17, 36)
"""Of kio's messages: InitProducerId, SaslHandshake and SaslAuthenticate."""


class Case(NamedTuple):
    """One kind of message, in one version."""

    form: MessageForm
    kind: Any
    """kio's class of it."""
    version: int

    def __str__(self) -> str:
        return f"{self.kind.__name__}-v{self.version}"


def _cases(api: Api) -> Iterator[Case]:
    for version in api.served:
        if version in (served_versions(api.key) or ()):
            yield Case(api.request, request_class(api.key, version), version)
            yield Case(api.response, response_class(api.key, version), version)


OURS = [case for api in _OURS.values() for case in _cases(api)]
KIOS = [case for key in OTHER_APIS for case in _cases(api_with(key))]  # type: ignore[arg-type]
REQUESTS = st.one_of(
    fetch_requests,
    epoch_requests,
    list_offsets_requests,
    metadata_requests,
    produce_requests,
    elect_leaders_requests,
    broker_heartbeat_requests,
    broker_registration_requests,
    fetch_snapshot_requests,
    alter_partition_requests,
    assign_replicas_requests,
    allocate_producer_ids_requests,
    api_versions_requests,
)


def test_all_versions_that_kafka_serves_are_read_and_written() -> None:
    for api in _OURS.values():
        assert set(served_versions(api.key) or ()) <= set(api.served)


@pytest.mark.parametrize("case", OURS, ids=str)
def test_no_field_is_lost_on_the_way_from_kio_and_back(case: Case) -> None:
    form: Any = case.form
    rng = random.Random(f"{run_seed()} {case}")
    for _ in range(10):
        data = kio_bytes(instance(case.kind, rng, items=3))
        assert form.write_fields(form.read_fields(memoryview(data), case.version), case.version) == data


@pytest.mark.parametrize("case", [*OURS, *KIOS], ids=str)
def test_kio_reads_what_we_made_of_its_message(case: Case) -> None:
    form, kind, version = case
    rng = random.Random(f"{run_seed()} {case}")
    for _ in range(10):
        with suppress(*REFUSALS):
            message = form.read(kio_bytes(instance(kind, rng)), version)
            data = form.write(message, version)
            assert kio_bytes(kio_reading(kind, data)) == data
            assert form.write(form.read(data, version), version) == data


@given(REQUESTS, st.data())
def test_a_request_is_read_as_it_was_written(request: Any, data: st.DataObject) -> None:
    api = api_of(request)
    version = data.draw(st.sampled_from(api.versions(request)))
    message = api.request.write(request, version)
    read = api.request.read(message, version)
    assert api.request.write(read, version) == message
    if isinstance(request, FetchRequest):
        read = named(read, {topic_id: name for name, topic_id in TOPIC_IDS.items()})
        assert read.partitions.keys() == request.partitions.keys()
        assert set(read.forgotten) == (set(request.forgotten) if version >= SINCE_SESSIONS else set())
    elif version == api.served.stop - 1:
        if isinstance(read, ProduceRequest):
            read = produce.named(read, {topic_id: name for name, topic_id in TOPIC_IDS.items()})
        assert read == _with_named_ids(request)


@pytest.mark.parametrize("records", [None, b"", b"some"])
def test_a_produce_request_by_ids_is_read_with_the_names_of_these(records: bytes | None) -> None:
    (topic, *_), version = TOPIC_IDS, produce.VERSIONS.stop - 1
    sent = ProduceRequest(partitions={TopicPartition(topic, 0): records}, acks=-1, timeout_ms=0, topic_ids=TOPIC_IDS)
    read = produce.REQUEST.read(produce.REQUEST.write(sent, version), version)
    assert produce.named(read, {topic_id: name for name, topic_id in TOPIC_IDS.items()}) == _with_named_ids(sent)


def _with_named_ids(request: Any) -> Any:
    """The request with the ids of the topics that it names, which alone are sent."""
    if not isinstance(request, ProduceRequest):
        return request
    topics = {topic for topic, _ in request.partitions}
    return replace(request, topic_ids={topic: request.topic_ids[topic] for topic in topics})


@pytest.mark.parametrize("case", [*OURS, *KIOS], ids=str)
def test_what_is_cut_short_anywhere_is_malformed(case: Case) -> None:
    rng = random.Random(f"{run_seed()} {case}")
    data = kio_bytes(instance(case.kind, rng, items=3))
    for size in rng.sample(range(len(data)), min(len(data), 30)):
        with pytest.raises((MalformedRequestError, MalformedResponseError), match=case.kind.__name__):
            case.form.read(data[:size], case.version)


def _read_or_refused(case: Case, data: bytes) -> Any:
    try:
        return case.form.read(data, case.version)
    except REFUSALS as error:
        return error


@pytest.mark.parametrize("case", [*OURS, *KIOS], ids=str)
def test_what_follows_an_answer_is_malformed_and_what_follows_a_request_is_passed_over(case: Case) -> None:
    data = kio_bytes(instance(case.kind, random.Random(f"{run_seed()} {case}")))
    if case.kind.__name__.endswith("Request"):
        with suppress(*REFUSALS):
            message = case.form.read(data, case.version)
            assert _read_or_refused(case, data + b"\0") == message
        return
    with pytest.raises(MalformedResponseError, match="1 extra bytes"):
        case.form.read(data + b"\0", case.version)


def test_random_changes_end_in_messages_or_in_our_errors_and_take_little_memory() -> None:
    rng = random.Random(CAMPAIGN.seed)
    cases = [*OURS, *KIOS]
    refused = 0
    tracemalloc.start()
    for _ in range(CAMPAIGN.count):
        case = rng.choice(cases)
        data = bytearray(kio_bytes(instance(case.kind, rng))) or bytearray(1)
        for _ in range(rng.randint(1, 4)):
            rng.choice(CHANGES)(data, rng)
        message = bytes(data)
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        try:
            case.form.read(message, case.version)
        except REFUSALS:
            refused += 1
        _, peak = tracemalloc.get_traced_memory()
        assert peak - before < BYTES_FOR_A_MESSAGE + BYTES_FOR_A_BYTE * len(message), case
    tracemalloc.stop()
    CAMPAIGN.report(CAMPAIGN.count, f"{refused:,} refused")
    assert 0 < refused < CAMPAIGN.count


@pytest.mark.parametrize("form", [fetch_form.REQUEST, fetch_form.RESPONSE], ids=lambda form: form.name)
def test_what_no_field_can_hold_is_not_written(form: Form[Any]) -> None:
    fields = form.fields()._replace(session_id=2**31)
    with pytest.raises(InvalidMessageError, match=f"{form.name} cannot be written"):
        form.write_fields(fields, 12)
