"""What the controller needs of a store, of the embedded one and of a real ZooKeeper alike."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from replication.cluster.controller.classic.errors import (
    BadVersionError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    SessionLostError,
    StoreUnreachableError,
)
from replication.cluster.controller.classic.store.coordination_store import (
    Check,
    CoordinationStore,
    Create,
    Delete,
    SetData,
)
from replication.cluster.controller.classic.store.embedded_store import EmbeddedTree
from replication.cluster.controller.classic.store.zookeeper_store import ZooKeeperStore
from tests.oracle.broker import free_port
from tests.oracle.zookeeper import ZooKeeperServer

PATIENCE_SECONDS = 60
Connect = Callable[[], CoordinationStore]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    with ZooKeeperServer(tmp_path_factory.mktemp("zookeeper")) as running:
        yield running


@pytest.fixture(params=["embedded", "zookeeper"])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Each test has a tree of its own; sessions that it leaves open are closed."""
    opened: list[CoordinationStore] = []
    if request.param == "embedded":
        begin: Connect = EmbeddedTree().session
    else:
        address = request.getfixturevalue("server").ensemble
        chroot = f"/{request.node.originalname}"
        root = ZooKeeperStore(address)
        root.create(chroot)
        opened.append(root)

        def begin() -> CoordinationStore:
            return ZooKeeperStore(f"{address}{chroot}")

    def connected() -> CoordinationStore:
        opened.append(begin())
        return opened[-1]

    yield connected
    for store in reversed(opened):
        store.close()


@pytest.fixture
def store(connect: Connect) -> CoordinationStore:
    return connect()


def test_a_node_holds_what_was_last_written(store: CoordinationStore) -> None:
    assert store.create("/a/b", b"first") == "/a/b"
    assert store.get("/a/b")[:2] == (b"first", 0)
    assert store.set("/a/b", b"second", 0) == 1
    assert store.get("/a/b")[:2] == (b"second", 1)
    assert store.children("/a") == ["b"]
    store.delete("/a/b", 1)
    assert not store.exists("/a/b")
    assert store.exists("/a")


def test_who_does_not_know_the_last_version_changes_nothing(store: CoordinationStore) -> None:
    store.create("/a", b"first")
    store.set("/a", b"second")
    with pytest.raises(BadVersionError, match="/a"):
        store.set("/a", b"third", 0)
    with pytest.raises(BadVersionError, match="/a"):
        store.delete("/a", 0)
    assert store.get("/a").data == b"second"


def test_what_is_not_there_can_be_neither_read_nor_changed(store: CoordinationStore) -> None:
    for call in (store.get, store.children, store.delete):
        with pytest.raises(NoNodeError, match="/none"):
            call("/none")
    with pytest.raises(NoNodeError, match="/none"):
        store.set("/none", b"")


def test_a_node_is_created_once(store: CoordinationStore) -> None:
    store.create("/a")
    with pytest.raises(NodeExistsError, match="/a"):
        store.create("/a")


def test_a_node_with_children_stays(store: CoordinationStore) -> None:
    store.create("/a/b")
    with pytest.raises(NotEmptyError, match="/a"):
        store.delete("/a")


def test_a_later_node_was_created_later(store: CoordinationStore) -> None:
    store.create("/a")
    first = store.get("/a").created
    store.delete("/a")
    store.create("/a")
    assert store.get("/a").created > first


def test_sequence_nodes_are_numbered(store: CoordinationStore) -> None:
    made = [store.create("/a/n_", sequence=True) for _ in range(3)]
    assert made == ["/a/n_0000000000", "/a/n_0000000001", "/a/n_0000000002"]


def test_ephemeral_nodes_end_with_their_session(connect: Connect, store: CoordinationStore) -> None:
    other = connect()
    other.create("/a/gone", ephemeral=True)
    other.create("/a/stays")
    other.close()
    assert store.children("/a") == ["stays"]
    with pytest.raises(SessionLostError):
        other.get("/a")


def test_the_end_of_a_session_is_told(connect: Connect) -> None:
    store, told = connect(), list[bool]()
    store.watch_session(told.append)
    store.close()
    wait_for(lambda: told == [False])


def test_many_operations_are_done_all_or_none(store: CoordinationStore) -> None:
    store.create("/a", b"first")
    store.create("/b")
    with pytest.raises(BadVersionError, match="/a"):
        store.multi([Delete("/b"), Create("/c"), Check("/a", 7)])
    with pytest.raises(NodeExistsError, match="/b"):
        store.multi([SetData("/a", b"second", 0), Create("/b")])
    assert (store.exists("/b"), store.exists("/c"), store.get("/a").data) == (True, False, b"first")
    store.multi([Check("/a", 0), SetData("/a", b"second", 0), Create("/c", b"third"), Delete("/b", 0)])
    assert (store.exists("/b"), store.get("/c").data, store.get("/a").data) == (False, b"third", b"second")


def test_a_watch_tells_once(connect: Connect, store: CoordinationStore) -> None:
    other, told = connect(), list[str]()
    store.create("/a/b")
    store.get("/a/b", told.append)
    store.children("/a", told.append)
    assert not store.exists("/a/c", told.append)
    other.set("/a/b", b"changed")
    other.create("/a/c")
    wait_for(lambda: sorted(told) == ["/a", "/a/b", "/a/c"])
    other.set("/a/b", b"again")
    other.delete("/a/c")
    store.exists("/a")
    assert len(told) == len(["/a/b", "/a", "/a/c"])


def test_an_operation_in_a_multi_is_told_as_well(connect: Connect, store: CoordinationStore) -> None:
    other, told = connect(), list[str]()
    store.create("/a")
    store.get("/a", told.append)
    other.multi([SetData("/a", b"changed")])
    wait_for(lambda: told == ["/a"])


def test_nobody_waits_for_ever_for_a_store_that_is_not_there() -> None:
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(StoreUnreachableError, match=address):
        ZooKeeperStore(address, connect_timeout=0.5)


def test_what_was_watched_is_told_once_the_store_is_back(tmp_path: Path) -> None:
    with ZooKeeperServer(tmp_path) as server:
        store, told = ZooKeeperStore(server.ensemble), list[str]()
        try:
            store.create("/a")
            store.get("/a", told.append)
            server.stop()
            wait_for(lambda: told == ["/a"])
            server.start()
            assert store.exists("/a"), "the call waits until the store is back"
        finally:
            store.close()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
