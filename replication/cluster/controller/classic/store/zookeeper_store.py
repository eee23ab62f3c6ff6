"""A coordination store on a ZooKeeper ensemble, through kazoo (the extra `zookeeper`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from replication.cluster.controller.classic.errors import (
    BadVersionError,
    CoordinationError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    SessionLostError,
    StoreUnreachableError,
)
from replication.cluster.controller.classic.store.coordination_store import (
    ANY_VERSION,
    Check,
    Create,
    Delete,
    Node,
    Operation,
    SetData,
    Watch,
)

if TYPE_CHECKING:
    from kazoo.client import KazooClient

_log: Final = logging.getLogger(__name__)
_OF_KAZOO: Final = logging.getLogger(f"{__name__}.kazoo")
_OF_KAZOO.setLevel(logging.CRITICAL)
"""kazoo logs each attempt to connect."""
SESSION_TIMEOUT_SECONDS: Final = 18.0
"""zookeeper.session.timeout.ms."""
_LONGEST_RETRY_SECONDS: Final = 1.0
"""Between attempts to connect too: kazoo's own minute is longer than a session lives."""


class ZooKeeperStore:
    """One session with an ensemble, begun at once (a CoordinationStore).

    Calls wait for the ensemble. Once the session is over, kazoo begins another by itself when it can.
    """

    def __init__(
        self, connect: str, *, session_timeout: float = SESSION_TIMEOUT_SECONDS, connect_timeout: float = 30.0
    ) -> None:
        """Connect to `host:port,...` with an optional /chroot behind; times in seconds.

        Raises StoreUnreachableError.
        """
        from kazoo.client import KazooClient  # noqa: PLC0415 - an extra

        self._connect = connect
        self._lost = False
        self._is_away = False
        self._session_watches: list[Callable[[bool], None]] = []
        self._client: KazooClient = KazooClient(
            hosts=connect,
            timeout=session_timeout,
            connection_retry={"max_tries": -1, "max_delay": _LONGEST_RETRY_SECONDS},
            logger=_OF_KAZOO,
        )
        self._client.add_listener(self._state_changed)
        self._client.start_async().wait(timeout=connect_timeout)
        if not self._client.connected:
            self.close()
            raise StoreUnreachableError(connect, connect_timeout)
        if self._client.chroot:
            self._call("/", self._client.ensure_path)

    def create(self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequence: bool = False) -> str:
        """See CoordinationStore."""
        return str(self._call(path, self._client.create, data, None, ephemeral, sequence, makepath=True))

    def exists(self, path: str, watch: Watch | None = None) -> bool:
        """See CoordinationStore."""
        return self._call(path, self._client.exists, _called(watch, path)) is not None

    def get(self, path: str, watch: Watch | None = None) -> Node:
        """See CoordinationStore."""
        data, stat = self._call(path, self._client.get, _called(watch, path))
        return Node(data, stat.version, stat.czxid)

    def children(self, path: str, watch: Watch | None = None) -> list[str]:
        """See CoordinationStore."""
        return sorted(self._call(path, self._client.get_children, _called(watch, path)))

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> int:
        """See CoordinationStore."""
        return int(self._call(path, self._client.set, data, version).version)

    def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """See CoordinationStore."""
        self._call(path, self._client.delete, version)

    def multi(self, operations: Sequence[Operation]) -> None:
        """See CoordinationStore."""
        from kazoo.exceptions import RolledBackError, RuntimeInconsistency  # noqa: PLC0415 - an extra

        def commit(_path: str) -> Any:
            transaction = self._client.transaction()
            for operation in operations:
                _add(transaction, operation)
            return transaction.commit()

        results = self._call(operations[0].path, commit)
        for operation, result in zip(operations, results, strict=True):
            if isinstance(result, Exception) and not isinstance(result, RolledBackError | RuntimeInconsistency):
                with self._errors(operation.path):
                    raise result

    def watch_session(self, watch: Callable[[bool], None]) -> None:
        """See CoordinationStore; called in kazoo's thread."""
        self._session_watches.append(watch)

    @property
    def is_away(self) -> bool:
        """Whether the connection is lost, and calls wait for it."""
        return self._is_away

    def close(self) -> None:
        """End the session; calls that wait raise SessionLostError."""
        self._client.stop()
        self._client.close()

    def _state_changed(self, state: str) -> None:
        """Report the end and the beginning of sessions; a broken connection may still be restored in time."""
        self._log_absence(is_away=state == "SUSPENDED" or (state == "LOST" and self._is_away))
        if state == "SUSPENDED" or (state == "LOST") == self._lost:
            return
        self._lost = state == "LOST"
        for watch in self._session_watches:
            watch(not self._lost)

    def _log_absence(self, *, is_away: bool) -> None:
        if is_away is self._is_away:
            return
        self._is_away = is_away
        if is_away:
            _log.warning("%s: the connection to ZooKeeper is lost; what is asked waits until it is back", self._connect)
        else:
            _log.warning("%s: the connection to ZooKeeper is back", self._connect)

    def _call(self, path: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call again for as long as the connection is broken and the session may live.

        What was done before an answer was lost is done twice then, so that nobody may rely on an error alone.
        """
        from kazoo.retry import KazooRetry  # noqa: PLC0415 - an extra

        retry = KazooRetry(max_tries=-1, max_delay=_LONGEST_RETRY_SECONDS, ignore_expire=False)
        with self._errors(path):
            return retry(function, path, *arguments, **options)

    @contextmanager
    def _errors(self, path: str) -> Iterator[None]:
        """Raise the errors of a CoordinationStore in place of kazoo's."""
        from kazoo import exceptions  # noqa: PLC0415 - an extra

        try:
            yield
        except exceptions.NoNodeError as error:
            raise NoNodeError(path) from error
        except exceptions.NodeExistsError as error:
            raise NodeExistsError(path) from error
        except exceptions.BadVersionError as error:
            raise BadVersionError(path) from error
        except exceptions.NotEmptyError as error:
            raise NotEmptyError(path) from error
        except (exceptions.SessionExpiredError, exceptions.ConnectionLoss, exceptions.ConnectionClosedError) as error:
            raise SessionLostError(self._connect) from error
        except exceptions.KazooException as error:
            raise CoordinationError(f"{path}: ZooKeeper at {self._connect} refuses: {error!r}") from error


def _add(transaction: Any, operation: Operation) -> None:
    match operation:
        case Create(path, data, ephemeral):
            transaction.create(path, data, ephemeral=ephemeral)
        case SetData(path, data, version):
            transaction.set_data(path, data, version)
        case Delete(path, version):
            transaction.delete(path, version)
        case Check(path, version):
            transaction.check(path, version)


def _called(watch: Watch | None, path: str) -> Callable[[Any], None] | None:
    """Return a watch as kazoo calls it: also when the connection breaks, and with it the watch, so it is read again."""
    return None if watch is None else _Called(watch, path)


@dataclass(frozen=True)
class _Called:
    """Of those that are equal, kazoo keeps one."""

    watch: Watch
    path: str

    def __call__(self, _event: Any) -> None:
        self.watch(self.path)
