"""A coordinator of transactions that answers as tests want it to, at an address of its own."""

from threading import Event
from typing import Any, Self

from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode
from replication.wire.messages.add_partitions_to_txn import (
    API_KEY,
    AddedPartitionsToTxn,
    AddPartitionsToTxnRequest,
)
from replication.wire.server.call import Call
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.hang_up import HangUpError
from replication.wire.server.served_api import ServedApi
from replication.wire.server.server import Server

SECONDS = 30


class SmallCoordinator:
    """Adds all that it is asked for, unless told otherwise."""

    def __init__(self, *, versions: range = range(6)) -> None:
        self.asked: list[AddPartitionsToTxnRequest] = []
        self.versions: list[int] = []
        self.goes_on = Event()
        self.goes_on.set()
        self.arrived = Event()
        self.hangs_up = False
        self._server = Server([ListenerSettings(address=Address("127.0.0.1", 0))])
        self.address = self._server.addresses["PLAINTEXT"]
        self._server.start({API_KEY: ServedApi(versions, self._answer)})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.goes_on.set()
        self._server.stop()

    def _answer(self, request: AddPartitionsToTxnRequest, call: Call) -> AddedPartitionsToTxn:
        self.asked.append(request)
        self.versions.append(call.version)
        self.arrived.set()
        assert self.goes_on.wait(SECONDS)
        if self.hangs_up:
            raise HangUpError("test", "it is told to")
        return AddedPartitionsToTxn(
            results={
                each.transactional_id: dict.fromkeys(each.partitions, ErrorCode.NONE) for each in request.transactions
            }
        )


class Told:
    """Waits for the answer to a question."""

    def __init__(self) -> None:
        self._answers: list[Any] = []
        self._has_come = Event()

    def __call__(self, refused: Any) -> None:
        self._answers.append(refused)
        self._has_come.set()

    def answer(self) -> Any:
        assert self._has_come.wait(SECONDS)
        (answer,) = self._answers
        return answer
