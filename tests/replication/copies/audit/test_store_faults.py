"""No verdict rests on one bad transfer: a store on loopback that fails in each way, on each kind of object."""

import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any, Final, NamedTuple

import pytest

from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.offset_checkpoint import OFFSET_CHECKPOINTS, OffsetCheckpoint
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata
from logstore.log.log import Log
from replication.audit import audit_locally
from replication.base.errors import ReplicationError, UnreadableLocationError
from replication.base.metadata_partition import METADATA_PARTITION
from replication.copies.audit.snapshots.remote.patience import Patience, patience_with
from replication.copies.audit.snapshots.remote.remote_directory import RemoteDirectory
from replication.copies.audit.snapshots.storage import Storage
from replication.records.metadata.metadata_log import append_metadata
from replication.records.metadata.records import PartitionRecord, TopicRecord
from tests.campaign import Campaign
from tests.data.replicas import replicas
from tests.replication.copies.audit.loopback_store import LISTING, Answer, Fault, LoopbackStore, refused

Report = dict[str, Any]
CAMPAIGN: Final = Campaign("audit: faults of a store", full=4_000, share=8)
PARTITIONS: Final = ("diverge-0", "hwloss-0", "compacted-0")
NODES: Final = (1, 2, 3)
STATUSES: Final = (204, 301, 304, 400, 401, 403, 404, 405, 408, 409, 410, 412, 416, 429, 500, 501, 502, 503, 504)
ONCE, ALWAYS = range(1), range(1_000_000)
TRANSFERS: Final = 4
"""Of a file, one of which is altered: those that are looked at again, or compared, are fetched more than once."""
OF_A_STORE: Final = {"transfer-damaged", "file-unreadable", "copy-vanished", "snapshot-changed"}
"""The kinds of findings that say that something was not read, or not in one transfer."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackStore]:
    """Three brokers with forked, truncated and compacted partitions, and the metadata of their cluster."""
    place = tmp_path_factory.mktemp("store")
    for node in NODES:
        write_broker(replicas("diverged") / f"broker-{node}", place / f"copies/broker-{node}")
    write_metadata(place / "copies")
    with LoopbackStore(place).running() as running:
        yield running


def write_broker(source: Path, target: Path) -> None:
    for name in PARTITIONS:
        if (source / name).exists():
            copytree(source / name, target / name)
    (target / META_PROPERTIES_NAME).write_bytes((source / META_PROPERTIES_NAME).read_bytes())
    for name in OFFSET_CHECKPOINTS:
        offsets = OffsetCheckpoint.parse((source / name).read_bytes()) if (source / name).exists() else {}
        OffsetCheckpoint({each: offset for each, offset in offsets.items() if str(each) in PARTITIONS}).write(
            target / name
        )


def write_metadata(place: Path) -> None:
    for node in NODES:
        with Log.open(place / f"broker-{node}" / str(METADATA_PARTITION)) as log:
            for name in PARTITIONS:
                append_metadata(log, records_of(place, name), leader_epoch=1)


def records_of(place: Path, name: str) -> list[TopicRecord | PartitionRecord]:
    held = tuple(node for node in NODES if (place / f"broker-{node}/{name}").exists())
    file = place / f"broker-{held[0]}" / name / PARTITION_METADATA_NAME
    topic_id = PartitionMetadata.parse(file.read_bytes()).topic_id
    partition = PartitionRecord(
        partition_id=0,
        topic_id=topic_id,
        replicas=held,
        isr=held,
        leader=held[0],
        leader_epoch=9,
        partition_epoch=0,
    )
    return [TopicRecord(name=name.removesuffix("-0"), topic_id=topic_id), partition]


def named(*ends: str, within: str = "") -> Callable[[str], bool]:
    return lambda key: key.endswith(ends) and within in key and not key.startswith(LISTING)


METADATA = f"/{METADATA_PARTITION}/"
OBJECTS: Final[dict[str, Callable[[str], bool]]] = {
    "segment": lambda key: key.endswith(".log") and METADATA not in key,
    "index": named(".index", ".timeindex", ".snapshot"),
    "epochs": named("leader-epoch-checkpoint"),
    "topic id": named(PARTITION_METADATA_NAME),
    "checkpoint": named(*OFFSET_CHECKPOINTS),
    "meta.properties": named(META_PROPERTIES_NAME),
    "metadata": named(".log", within=METADATA),
    "listing": lambda key: key.startswith(LISTING),
}


def flipped(answer: Answer, number: int, first: int) -> Answer:
    """Flip a bit, another one in each transfer: nobody could tell two that are alike from a file that is damaged."""
    if not answer.body:
        return answer
    at, bit = divmod((first + number) % (8 * len(answer.body)), 8)
    changed = answer.body[at] ^ (1 << bit)
    return replace(answer, body=answer.body[:at] + bytes([changed]) + answer.body[at + 1 :])


def cut(answer: Answer, size: int) -> Answer:
    return replace(answer, body=answer.body[:size])


def padded(answer: Answer, share: float, number: int) -> Answer:
    """Put zeros in place of the end, and last of all the number of the transfer: no two are alike."""
    size = len(answer.body)
    kept = int(size * share)
    return replace(answer, body=(answer.body[:kept].ljust(size, b"\0")[:-1] + bytes([number % 255 + 1]))[:size])


class RandomFault(NamedTuple):
    """What the store does, and how it is called."""

    how: str
    fault: Fault


def random_fault(chance: random.Random) -> RandomFault:
    share, status = chance.random(), chance.choice(STATUSES)
    match chance.choice(["status", "status", "slow down", "flip", "flip", "cut", "torn", "length", "padded", "slow"]):
        case "status":
            return RandomFault(f"status {status}", lambda *_: refused(status, "Odd"))
        case "slow down":
            told = {"Retry-After": str(chance.randint(0, 2))}
            return RandomFault("429 with Retry-After", lambda *_: refused(429, "SlowDown", **told))
        case "cut":
            return RandomFault("cut", lambda answer, _: cut(answer, int(len(answer.body) * share)))
        case "torn":
            return RandomFault(
                "torn",
                lambda answer, _: replace(cut(answer, int(len(answer.body) * share)), length=len(answer.body)),
            )
        case "length":
            wrong = chance.choice([0.5, 0.9, 1.5])
            return RandomFault("wrong length", lambda answer, _: replace(answer, length=int(len(answer.body) * wrong)))
        case "padded":
            return RandomFault("padded", lambda answer, number: padded(answer, share, number))
        case "slow":
            return RandomFault("slow", lambda answer, _: replace(answer, pause=0.2))
        case _:
            first = chance.randrange(1 << 24)
            return RandomFault("flip", lambda answer, number: flipped(answer, number, first))


def test_what_a_store_ends_early_is_not_filled_up_with_what_stood_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(range(256)))
    with LoopbackStore(tmp_path).running() as store:
        place = Storage(store.address(""))
        store.set_fault(lambda _key: True, lambda answer, _: cut(answer, 100), ALWAYS)
        with pytest.raises(OSError, match="an answer of the store ends early"):
            place.read("file", 1_000)
        store.set_fault(lambda _key: True, lambda answer, _: cut(answer, 100), ONCE)
        assert place.read("file", 1_000) == bytes(range(256))


def test_a_listing_with_a_name_that_is_no_text_is_asked_for_again(tmp_path: Path) -> None:
    (tmp_path / "some-file").write_bytes(b"1")

    def not_text(answer: Answer, _: int) -> Answer:
        return replace(answer, body=answer.body.replace(b"some-file", b"some-f\xe9le"))

    with LoopbackStore(tmp_path).running() as store:
        place = Storage(store.address(""))
        store.set_fault(lambda _key: True, not_text, ONCE)
        assert place.tree() == {"": {"some-file": 1}}
        store.set_fault(lambda _key: True, not_text, ALWAYS)
        with pytest.raises(UnreadableLocationError, match=r"a name that is no UTF-8: .*some-f"):
            place.tree()


def audited(store: LoopbackStore) -> Report:
    patience_with.cache_clear()
    return audit_locally([store.address("copies")], workers=0).document


def told(report: Report) -> set[tuple[str, ...]]:
    """What is found, but for what is said of the store."""
    return {
        tuple(str(each[name]) for name in ("kind", "severity", "replica", "topic", "partition", "file", "offset"))
        for each in report["findings"]
        if each["kind"] not in OF_A_STORE
    }


def verdicts(report: Report) -> dict[str, set[str]]:
    return {f"{each['topic']}-{each['partition']}": set(each["verdicts"]) for each in report["partitions"]}


def judged(report: Report) -> list[Any]:
    """All that is said of partitions, but for what it took to compare them."""
    return [{name: value for name, value in each.items() if name != "comparisons"} for each in report["partitions"]]


@pytest.fixture(scope="module")
def sound(store: LoopbackStore) -> Report:
    report = audited(store)
    assert {"forked"} <= verdicts(report)["diverge-0"]
    assert not {each["kind"] for each in report["findings"]} & OF_A_STORE
    return report


def test_no_verdict_rests_on_a_fault_of_the_store(store: LoopbackStore, sound: Report) -> None:
    altered = not_read = 0
    for number in range(CAMPAIGN.count):
        chance = random.Random(CAMPAIGN.seed * 10_000 + number)
        kind = chance.choice(list(OBJECTS))
        keys = sorted(key for key in store.asked if OBJECTS[kind](key))
        key, (how, fault) = chance.choice(keys), random_fault(chance)
        is_once, nth = chance.random() < 0.6, chance.randrange(TRANSFERS)
        store.has_digests = chance.random() < 0.5
        where = f"seed {number}: {how} of {key}, {f'once, in transfer {nth}' if is_once else 'always'}"
        store.set_fault(lambda each, key=key: each == key, fault, range(nth, nth + 1) if is_once else ALWAYS)
        try:
            with warnings.catch_warnings():
                if not is_once:  # copies of the metadata that cannot be read are told so
                    warnings.simplefilter("ignore")
                report = audited(store)
        except (ReplicationError, OSError):
            if is_once:
                raise
            not_read += 1
            continue
        altered += store.altered > 0
        assert told(report) <= told(sound), f"{where}: {told(report) - told(sound)}"
        if is_once:
            assert told(report) == told(sound), where
            assert judged(report) == judged(sound), where
        for partition, found in verdicts(report).items():
            assert found <= verdicts(sound)[partition] | {"unknown"}, f"{where}: {partition}"
            if found != verdicts(sound)[partition]:
                assert "unknown" in found, f"{where}: {partition}"
    CAMPAIGN.report(CAMPAIGN.count, f"{altered + not_read:,} met a fault, {not_read:,} audits ended by it")


def test_a_store_that_is_too_busy_keeps_an_audit_waiting_no_longer_than_its_patience_lasts(
    store: LoopbackStore, sound: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RemoteDirectory, "patience", Patience(most=0))
    store.asked.clear()
    store.set_fault(OBJECTS["segment"], lambda *_: refused(429, "SlowDown", **{"Retry-After": "3600"}), ALWAYS)
    report = audited(store)
    assert [verdicts(report)[name] for name in PARTITIONS] == [{"unknown"}] * len(PARTITIONS)
    assert {times for key, times in store.asked.items() if OBJECTS["segment"](key)} == {1}
    unread = [each["message"] for each in report["findings"] if each["kind"] == "file-unreadable"]
    assert unread
    assert all("it was not asked again" in message for message in unread)
    assert told(report) <= told(sound)
