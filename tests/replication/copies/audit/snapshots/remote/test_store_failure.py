"""Failures of a store are told apart, each is asked for again as often as that may help, and none hangs for long."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest

from replication.base.errors import UnreadableLocationError
from replication.copies.audit.snapshots.remote import transfer
from replication.copies.audit.snapshots.remote.patience import patience_with
from replication.copies.audit.snapshots.remote.place import Place
from replication.copies.audit.snapshots.storage import Storage
from tests.replication.copies.audit.loopback_store import LISTING, Answer, LoopbackStore, refused


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    patience_with.cache_clear()
    monkeypatch.setattr(transfer, "PAUSE_SECONDS", 0)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "broker").mkdir()
    (tmp_path / "broker/file").write_bytes(b"some bytes")
    return tmp_path


LISTINGS = {
    "access denied: .*s3:ListBucket": (403, "AccessDenied", 2),
    "credentials expired: .*renew them": (400, "ExpiredToken", 2),
    "credentials refused: ": (403, "InvalidAccessKeyId", 2),
    "clock wrong: ": (403, "RequestTimeTooSkewed", 2),
    "no such bucket: .*correct the address": (404, "NoSuchBucket", 2),
    "wrong region: .*region=eu-west-1": (301, "PermanentRedirect", 2),
    "store too busy: .*fewer workers": (503, "SlowDown", 10),
    "store failed: ": (500, "InternalError", 10),
}


@pytest.mark.parametrize("told", LISTINGS)
def test_why_a_listing_is_refused(told: str, place: Path) -> None:
    status, code, times = LISTINGS[told]
    with LoopbackStore(place).running() as store:
        store.set_fault(lambda key: key.startswith(LISTING), lambda *_: refused(status, code), range(1_000))
        with pytest.raises(UnreadableLocationError, match=told):
            Storage(store.address("broker")).tree()
        assert store.requests[LISTING] == times


class RefusingStore(LoopbackStore):
    """Refuses to give any object: pyarrow is told by HEAD, which has no body."""

    status = 200

    def _found(self, key: str, sent: str | None) -> Answer:
        return refused(self.status, "Odd") if self.status != 200 else super()._found(key, sent)


OBJECTS = {
    "access denied: .*s3:GetObject": (403, 2),
    "request refused: .*expired": (400, 2),
    "store too busy: ": (503, 10),
    "store failed: ": (500, 10),
}


@pytest.mark.parametrize("told", OBJECTS)
def test_why_an_object_is_refused(told: str, place: Path) -> None:
    store = RefusingStore(place)
    with store.running():
        store.status, times = OBJECTS[told]
        with pytest.raises(OSError, match=told):
            Storage(store.address("broker")).read("file", 100)
        assert store.requests["HEAD"] == times


def test_an_object_that_is_gone_is_asked_for_twice(place: Path) -> None:
    with LoopbackStore(place).running() as store:
        with pytest.raises(FileNotFoundError):
            Storage(store.address("broker")).read("gone", 100)
        assert store.requests["HEAD"] == 2


@contextmanager
def hanging(store: LoopbackStore) -> Iterator[None]:
    """Give no answer for as long as it is entered."""
    over = Event()

    def fault(answer: Answer, _: int) -> Answer:
        over.wait(60)
        return answer

    store.set_fault(lambda _key: True, fault, range(1_000))
    try:
        yield
    finally:
        over.set()


def test_an_object_that_hangs_is_asked_for_three_times(place: Path) -> None:
    with LoopbackStore(place).running() as store, hanging(store):
        with pytest.raises(OSError, match=r"timed out: .*last 1 seconds; .*request_timeout in the address"):
            Storage(f"{store.address('broker')}&request_timeout=1").read("file", 100)
        assert store.asked["broker/file"] == 3


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon", ""])
def test_a_time_out_is_a_number_of_seconds(seconds: str) -> None:
    with pytest.raises(OSError, match=f"request_timeout={seconds} is no number of seconds"):
        Place.of(f"s3://key:word@bucket/broker?region=eu-west-1&request_timeout={seconds}")


def test_time_outs_are_taken_from_the_address() -> None:
    address = "s3://key:word@bucket/broker?region=eu-west-1"
    assert timeouts(address) == (5, 5)
    assert timeouts(f"{address}&connect_timeout=2&request_timeout=60") == (60, 2)


def timeouts(address: str) -> tuple[float, float]:
    _, (options,) = Place.of(address).filesystem.__reduce__()
    return options["request_timeout"], options["connect_timeout"]


def test_a_wrong_address_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real = Place.of

    def of(uri: str) -> Place:
        opened.append(uri)
        return real(uri)

    monkeypatch.setattr(Place, "of", of)
    with pytest.raises(UnreadableLocationError, match=r"s3://bucket/broker: .*regoin"):
        Storage("s3://key:word@bucket/broker?regoin=eu-west-1").tree()
    assert len(opened) == 1


def test_directories_of_one_bucket_share_connections() -> None:
    address = "s3://key:word@bucket{}?region=eu-west-1"
    paths = {"": "bucket", "/": "bucket", "/a": "bucket/a", "/a/t-0/": "bucket/a/t-0", "/a%20b/c": "bucket/a b/c"}
    for number in (0, 1):
        places = {path: Place.kept(address.format(path), number) for path in paths}
        assert {path: place.path for path, place in places.items()} == paths
        assert {path: Place.of(address.format(path)).path for path in paths} == paths
        assert len({id(place.filesystem) for place in places.values()}) == 1
    assert Place.kept(address.format(""), 0).filesystem is not Place.kept(address.format(""), 1).filesystem


def test_google_is_not_asked_for_a_quarter_of_an_hour() -> None:
    address = "gs://anonymous@bucket/broker"
    for given, seconds in (("", 5), ("?retry_limit_seconds=60", 60), ("?scheme=http", 5)):
        place = Place.of(address + given)
        assert place.path == "bucket/broker"
        _, (options,) = place.filesystem.__reduce__()
        assert options["retry_time_limit"].total_seconds() == seconds
