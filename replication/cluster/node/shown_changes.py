"""Answers to administrators that wait until the broker that gives them knows what was done."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.records.metadata.topics import Topics
from replication.wire.error_code import ErrorCode
from replication.wire.server.call import Call
from replication.wire.server.served_api import ServedApi, ServedApis

Wait: TypeAlias = Callable[[Callable[[], bool], float], object]
"""Returns once something holds, looked at whenever metadata was applied, or after so many seconds."""
_CREATE_TOPICS: Final = 19
_DELETE_TOPICS: Final = 20
_CREATE_PARTITIONS: Final = 37
_MOST_SECONDS: Final = 2.0
"""What was done may be undone before it is seen."""


def shown_changes(apis: ServedApis, known: KnownCluster, wait: Wait) -> ServedApis:
    """Return what the controller answers, in time for who asks this broker next about the topics."""
    return {
        key: replace(api, answer=_shown(api, key, known, wait)) if key in _ARE_SHOWN else api
        for key, api in apis.items()
    }


def _shown(api: ServedApi, key: int, known: KnownCluster, wait: Wait) -> Callable[[Any, Call], Any]:
    def answer(request: Any, call: Call) -> Any:
        answered = api.answer(request, call)
        if not getattr(request, "validate_only", False):
            seconds = min(_MOST_SECONDS, request.timeout.total_seconds())
            wait(lambda: _ARE_SHOWN[key](request, answered, known.image().topics), seconds)
        return answered

    return answer


def _are_created(_: Any, answered: Any, topics: Topics) -> bool:
    return all(each.name in topics.by_name for each in answered.topics if each.error_code == ErrorCode.NONE)


def _are_deleted(_: Any, answered: Any, topics: Topics) -> bool:
    return not any(each.name in topics.by_name for each in answered.responses if each.error_code == ErrorCode.NONE)


def _are_enlarged(request: Any, answered: Any, topics: Topics) -> bool:
    done = {each.name for each in answered.results if each.error_code == ErrorCode.NONE}
    asked = [each for each in request.topics if each.name in done and each.name in topics.by_name]
    return all(len(topics.by_name[each.name].partitions) >= each.count for each in asked)


_ARE_SHOWN: Final[Mapping[int, Callable[[Any, Any, Topics], bool]]] = {
    _CREATE_TOPICS: _are_created,
    _DELETE_TOPICS: _are_deleted,
    _CREATE_PARTITIONS: _are_enlarged,
}
