"""Requests that change settings: IncrementalAlterConfigs and AlterConfigs."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from replication.base.int32 import parse_int32
from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.cluster.controller.controller import Controller
from replication.cluster.controller.decision import Decision
from replication.cluster.controller.settings.setting_changes import (
    Operation,
    ResourceChanges,
    SettingChange,
    SettingsAnswer,
)
from replication.cluster.standalone.static_controller import StaticController
from replication.records.metadata.configurations import ConfigResource, ConfigResourceType
from replication.wire.error_code import ErrorCode
from replication.wire.server.call import Call

ALTER_CONFIGS: Final = 33
INCREMENTAL_ALTER_CONFIGS: Final = 44


class SettingRequests:
    """Answers them in kio's terms."""

    def __init__(self, controller: StaticController, node_id: int | None) -> None:
        """Pass them on to this controller; with a `node_id`, those of other brokers are refused."""
        self._controller: Final = controller
        self._node_id: Final = node_id

    def change(self, request: Any, call: Call) -> Any:
        """Answer IncrementalAlterConfigs."""
        return self._answered(
            INCREMENTAL_ALTER_CONFIGS,
            call,
            _changes(request, lambda config: config.config_operation),
            lambda deciding, mine: deciding.change_settings(mine, validate_only=request.validate_only),
        )

    def replace(self, request: Any, call: Call) -> Any:
        """Answer AlterConfigs."""
        return self._answered(
            ALTER_CONFIGS,
            call,
            _changes(request, lambda _: Operation.SET),
            lambda deciding, mine: deciding.replace_settings(mine, validate_only=request.validate_only),
        )

    def _answered(
        self,
        api_key: int,
        call: Call,
        changes: Sequence[ResourceChanges],
        decide: Callable[[Controller, Sequence[ResourceChanges]], Decision[list[SettingsAnswer]]],
    ) -> Any:
        faults = [self._fault(resource) for resource, _ in changes]
        mine = [each for each, fault in zip(changes, faults, strict=True) if fault is None]
        decided = iter(self._controller.decide(lambda deciding: decide(deciding, mine)))
        answers = [
            next(decided) if fault is None else SettingsAnswer(resource, ErrorCode.INVALID_REQUEST, fault)
            for (resource, _), fault in zip(changes, faults, strict=True)
        ]
        told = [
            {
                "error_code": each.error,
                "error_message": each.message,
                "resource_type": each.resource.type,
                "resource_name": each.resource.name,
            }
            for each in answers
        ]
        return kio_answer(api_key, call.version, {"responses": told})

    def _fault(self, resource: ConfigResource) -> str | None:
        """Return why a broker is not this one; None where it is, or where anything else is set."""
        if self._node_id is None or resource.type != ConfigResourceType.BROKER or not resource.name:
            return None
        number = parse_int32(resource.name)
        if number is None:
            return f"Node id must be an integer, but it is: {resource.name}"
        if number != self._node_id:
            return f"Unexpected broker id, expected {self._node_id}, but received {resource.name}"
        return None


def _changes(request: Any, operation: Callable[[Any], int]) -> list[ResourceChanges]:
    """Return what is to be set, by resource; `operation` says how a setting of the request changes."""
    return [
        (
            ConfigResource(each.resource_type, each.resource_name),
            [SettingChange(config.name, operation(config), config.value) for config in each.configs],
        )
        for each in request.resources
    ]
