"""A broker that tells of its settings what tests want it to, at an address of its own."""

from collections.abc import Mapping
from typing import Final, Self

from replication.cluster.node.coordinators.coordinator_topic import SETTINGS
from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode
from replication.wire.messages.describe_configs import (
    API_KEY,
    VERSIONS,
    Configuration,
    DescribeConfigsRequest,
    DescribedConfigs,
    Setting,
)
from replication.wire.server.call import Call
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.served_api import ServedApi
from replication.wire.server.server import Server

KAFKAS: Final[Mapping[str, str]] = dict.fromkeys(SETTINGS, "1")
"""One partition and one replica of each topic."""


class DescribedBroker:
    """Knows of the settings those that it is given."""

    def __init__(self, settings: Mapping[str, str] = KAFKAS, error: ErrorCode = ErrorCode.NONE) -> None:
        self._settings = settings
        self._error = error
        self._server = Server([ListenerSettings(address=Address("127.0.0.1", 0))])
        self.address = self._server.addresses["PLAINTEXT"]
        self._server.start({API_KEY: ServedApi(VERSIONS, self._answer)})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    def _answer(self, request: DescribeConfigsRequest, _: Call) -> DescribedConfigs:
        settings = {name: Setting(value) for name, value in self._settings.items()}
        known = {} if self._error is not ErrorCode.NONE else settings
        return DescribedConfigs(resources=dict.fromkeys(request.resources, Configuration(self._error, None, known)))
