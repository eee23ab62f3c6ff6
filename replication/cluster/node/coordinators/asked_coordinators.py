"""The coordinators of transactions as leaders ask them (Kafka: AddPartitionsToTxnManager, KIP-890)."""

import logging
from threading import Lock
from typing import Final

from epoch.base.resource_limits import ResourceLimitError
from replication.cluster.broker.requests.writing.transaction_verification import AskedTransaction, TellRefused
from replication.cluster.node.coordinators.coordinator_thread import CoordinatorThread
from replication.cluster.node.coordinators.other_coordinators import OtherCoordinators
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.error_code import ErrorCode

_log: Final = logging.getLogger(__name__)


class AskedCoordinators:
    """Asks each by a thread of its own, which begins with the first question (see `TransactionVerification`)."""

    def __init__(self, coordinators: OtherCoordinators, listener: str, settings: ClientSettings) -> None:
        """Find them by the metadata, at this listener of theirs; `settings` say how it is protected."""
        self._coordinators: Final = coordinators
        self._listener: Final = listener
        self._settings: Final = settings
        self._lock: Final = Lock()
        self._threads: Final[dict[int, CoordinatorThread]] = {}
        """By broker id."""
        self._is_closed = False

    def ask(self, asked: AskedTransaction, tell: TellRefused) -> None:
        """Ask the coordinator of a transaction; COORDINATOR_NOT_AVAILABLE where nobody is, or no thread can ask it."""
        thread = self._thread(asked.transactional_id)
        if thread is None:
            tell(dict.fromkeys(asked.partitions, ErrorCode.COORDINATOR_NOT_AVAILABLE))
        else:
            thread.ask(asked, tell)

    def close(self) -> None:
        """Ask nobody any more."""
        with self._lock:
            self._is_closed = True
            threads = list(self._threads.values())
        for thread in threads:
            thread.stop()

    def _thread(self, transactional_id: str) -> CoordinatorThread | None:
        """Return who asks the coordinator where that is by now, if it is anywhere and the process may have a thread."""
        node = self._coordinators.node(transactional_id, self._listener)
        if node is None:
            return None
        address = Address(node.host, node.port)
        with self._lock:
            thread = self._threads.get(node.id)
            if self._is_closed or (thread is not None and thread.address == address and not thread.stopped):
                return thread
            if thread is not None:
                thread.stop(wait=False)
            thread = CoordinatorThread(address, self._settings)
            try:
                thread.start()
            except ResourceLimitError as error:
                _log.warning("%s is not asked as a coordinator of transactions: %s", address, error)
                return None
            self._threads[node.id] = thread
            return thread
