"""Settings that are to change while a broker runs: those that would make no difference to it are refused."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeAlias

from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.records.metadata.configurations import ConfigResourceType
from replication.records.metadata.settings.ineffective_settings import ineffective_of_brokers
from replication.wire.error_code import ErrorCode
from replication.wire.server.call import Call
from replication.wire.server.served_api import ServedApi, ServedApis

_ALTER_CONFIGS: Final = 33
_INCREMENTAL_ALTER_CONFIGS: Final = 44
_DELETE: Final = 1
"""What lets the default apply again (Kafka: AlterConfigOp.OpType)."""

Answer: TypeAlias = Callable[[Any, Call], Any]


def effective_changes(apis: ServedApis, *, alone: bool) -> ServedApis:
    """Return what answers these requests, but for settings of this broker that would make no difference to it.

    Those of all brokers are looked at where it is `alone`: to others they may make one, and tools ask any broker. Those
    of topics pass, as tools copy them from one cluster to another. A broker says what it does not keep to.
    """
    changing = {key: apis[key] for key in (_ALTER_CONFIGS, _INCREMENTAL_ALTER_CONFIGS) if key in apis}
    return {
        **apis,
        **{key: ServedApi(api.versions, _checked(key, api.answer, alone=alone)) for key, api in changing.items()},
    }


def _checked(key: int, answer: Answer, *, alone: bool) -> Answer:
    def checked(request: Any, call: Call) -> Any:
        faults = [_fault(each) if each.resource_name or alone else None for each in request.resources]
        if not any(faults):
            return answer(request, call)
        refused = kio_answer(key, call.version, {"responses": [fault for fault in faults if fault is not None]})
        others = tuple(each for each, fault in zip(request.resources, faults, strict=True) if fault is None)
        if not others:
            return refused
        told = answer(replace(request, resources=others), call)
        return replace(told, responses=(*told.responses, *refused.responses))

    return checked


def _fault(resource: Any) -> dict[str, Any] | None:
    """Return the error for a resource whose change would make no difference."""
    if resource.resource_type != ConfigResourceType.BROKER:
        return None
    reasons: dict[str, list[str]] = {}
    given = {each.name: each.value for each in resource.configs if _sets(each)}
    for name, why in ineffective_of_brokers(given, of_all=not resource.resource_name).items():
        reasons.setdefault(why, []).append(name)
    if not reasons:
        return None
    said = "; ".join(f"{', '.join(names)}: makes no difference here: {why}" for why, names in reasons.items())
    return {
        "resource_type": resource.resource_type,
        "resource_name": resource.resource_name,
        "error_code": ErrorCode.INVALID_REQUEST,
        "error_message": said,
    }


def _sets(config: Any) -> bool:
    return config.value is not None and getattr(config, "config_operation", None) != _DELETE
