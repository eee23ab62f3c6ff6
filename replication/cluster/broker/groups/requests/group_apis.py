"""All that a coordinator of groups answers."""

from collections.abc import Callable
from typing import Any

from replication.cluster.broker.authorization.permissions import PermissionsOf, unlimited
from replication.cluster.broker.groups.coordinator import GroupCoordinator
from replication.cluster.broker.groups.requests import (
    deletion_requests,
    listing_requests,
    member_requests,
    offset_requests,
)
from replication.cluster.broker.groups.requests.deletion_requests import DeletionRequests
from replication.cluster.broker.groups.requests.listing_requests import FindEndpoint, ListingRequests
from replication.cluster.broker.groups.requests.member_requests import MemberRequests
from replication.cluster.broker.groups.requests.offset_requests import OffsetRequests
from replication.records.metadata.image import ClusterImage
from replication.wire.encoding.kio_messages import served_versions
from replication.wire.server.served_api import ServedApi, ServedApis


def group_apis(
    coordinator: GroupCoordinator,
    *,
    image: Callable[[], ClusterImage],
    endpoint: FindEndpoint,
    transactions: FindEndpoint | None = None,
    permissions: PermissionsOf = unlimited,
) -> ServedApis:
    """Return the APIs by which clients use a coordinator, in all versions of Kafka 4.3.

    `image` gives the topics for which may be committed, and `endpoint` where the coordinator of a group is found;
    `transactions` finds that of a transactional id, of which without it there are none. Those of the consumer, share
    and streams protocols are absent: clients that may choose take the classic one then. `permissions` are what callers
    may do (`Authorizer.permissions`); by default everybody may do everything.
    """
    members = MemberRequests(coordinator, permissions)
    offsets = OffsetRequests(coordinator, image, permissions)
    deletion = DeletionRequests(coordinator, image, permissions)
    listing = ListingRequests(coordinator, endpoint, permissions, transactions)
    answers: dict[int, Callable[..., Any]] = {
        offset_requests.OFFSET_COMMIT: offsets.commit,
        offset_requests.OFFSET_FETCH: offsets.fetch,
        listing_requests.FIND_COORDINATOR: listing.find,
        member_requests.JOIN_GROUP: members.join,
        member_requests.HEARTBEAT: members.heartbeat,
        member_requests.LEAVE_GROUP: members.leave,
        member_requests.SYNC_GROUP: members.sync,
        listing_requests.DESCRIBE_GROUPS: listing.describe,
        listing_requests.LIST_GROUPS: listing.list,
        deletion_requests.DELETE_GROUPS: deletion.delete_groups,
        deletion_requests.OFFSET_DELETE: deletion.delete_offsets,
    }
    return {key: ServedApi(served_versions(key) or range(0), answer) for key, answer in answers.items()}
