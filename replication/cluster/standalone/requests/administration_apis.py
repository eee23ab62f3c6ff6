"""All that administrators ask of a controller."""

from collections.abc import Callable
from typing import Any

from replication.cluster.standalone.requests import leader_requests, member_requests, setting_requests, topic_requests
from replication.cluster.standalone.requests.leader_requests import LeaderRequests
from replication.cluster.standalone.requests.member_requests import MemberRequests
from replication.cluster.standalone.requests.setting_requests import SettingRequests
from replication.cluster.standalone.requests.topic_requests import TopicRequests
from replication.cluster.standalone.static_controller import StaticController
from replication.wire.encoding.kio_messages import served_versions
from replication.wire.messages import elect_leaders, list_partition_reassignments
from replication.wire.server.served_api import ServedApi, ServedApis


def administration_apis(controller: StaticController, *, node_id: int | None = None) -> ServedApis:
    """Return the APIs by which topics are made, changed and deleted, and brokers forgotten, in all of 4.3's versions.

    A broker with a `node_id` takes settings of brokers only for itself and for all. What is answered is on stable
    storage: no timeout runs out. Requests end with ControllerFailedError where the metadata could not be written.
    """
    topics = TopicRequests(controller)
    settings = SettingRequests(controller, node_id)
    leaders = LeaderRequests(controller)
    answers: dict[int, Callable[..., Any]] = {
        topic_requests.CREATE_TOPICS: topics.create,
        topic_requests.DELETE_TOPICS: topics.delete,
        topic_requests.CREATE_PARTITIONS: topics.enlarge,
        setting_requests.ALTER_CONFIGS: settings.replace,
        setting_requests.INCREMENTAL_ALTER_CONFIGS: settings.change,
        leader_requests.ALTER_PARTITION_REASSIGNMENTS: leaders.reassign,
        member_requests.UNREGISTER_BROKER: MemberRequests(controller).unregister,
    }
    return {
        **{key: ServedApi(served_versions(key) or range(0), answer) for key, answer in answers.items()},
        elect_leaders.API_KEY: ServedApi(elect_leaders.VERSIONS, leaders.elect),
        list_partition_reassignments.API_KEY: ServedApi(
            list_partition_reassignments.VERSIONS, leaders.list_reassignments
        ),
    }
