"""What clients ask any broker, and so this controller too, which is none: a broker answers."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Any, Final

from replication.base.errors import ReplicationError
from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.connection import Connection
from replication.wire.error_code import ErrorCode
from replication.wire.messages import describe_cluster, describe_configs, list_transactions, metadata
from replication.wire.messages.list_transactions import ListedTransactions
from replication.wire.server.call import Call
from replication.wire.server.hang_up import HangUpError
from replication.wire.server.served_api import ServedApi, ServedApis

_PASSED_ON: Final[Mapping[int, range]] = MappingProxyType(
    {
        metadata.API_KEY: range(metadata.VERSIONS.start, 13),
        10: range(7),  # FindCoordinator
        22: range(6),  # InitProducerId, without a transaction
        29: range(1, 4),  # DescribeAcls
        30: range(1, 4),  # CreateAcls
        31: range(1, 4),  # DeleteAcls
        describe_configs.API_KEY: range(1, 5),
        33: range(3),  # AlterConfigs
        44: range(2),  # IncrementalAlterConfigs
        48: range(2),  # DescribeClientQuotas
        49: range(2),  # AlterClientQuotas
        50: range(1),  # DescribeUserScramCredentials
        describe_cluster.API_KEY: range(2),
    }
)
"""In the versions of Kafka 3.9, the last with ZooKeeper."""
_LIST_GROUPS: Final = 16
_DESCRIBE_LOG_DIRS: Final = 35


class PassedOn:
    """Asks any of the brokers; of what each of them has to tell of itself, this one has nothing."""

    def __init__(self, brokers: Callable[[], Sequence[Address]], settings: ClientSettings) -> None:
        """`brokers` returns where those listen that live."""
        self._brokers: Final = brokers
        self._settings: Final = settings
        self._random: Final = Random()  # noqa: S311 - no secret

    def apis(self) -> ServedApis:
        """Return what is answered so."""
        return {
            **{key: ServedApi(versions, self._answer) for key, versions in _PASSED_ON.items()},
            _LIST_GROUPS: ServedApi(range(6), _no_groups),
            _DESCRIBE_LOG_DIRS: ServedApi(range(1, 5), _no_directories),
            list_transactions.API_KEY: ServedApi(range(2), _no_transactions),
        }

    def _answer(self, request: Any, _: Call) -> Any:
        brokers = list(self._brokers())
        self._random.shuffle(brokers)
        failures = []
        for address in brokers:
            try:
                with Connection.open(address, self._settings) as connection:
                    return connection.ask(request)
            except ReplicationError as error:
                failures.append(str(error))
        raise HangUpError(
            "brokers", f"no broker answers {type(request).__name__}: {'; '.join(failures) or 'none lives'}"
        )


def _no_groups(_: Any, call: Call) -> Any:
    return kio_answer(_LIST_GROUPS, call.version, {"error_code": ErrorCode.NONE, "groups": []})


def _no_directories(_: Any, call: Call) -> Any:
    return kio_answer(_DESCRIBE_LOG_DIRS, call.version, {"error_code": ErrorCode.NONE, "results": []})


def _no_transactions(_: Any, __: Call) -> ListedTransactions:
    return ListedTransactions(error=ErrorCode.NONE, transactions=())
