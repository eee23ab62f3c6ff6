"""Random requests of the clients of one group, most of them what a client would send next."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from replication.wire.encoding.kio_messages import request_classes
from tests.replication.cluster.broker.groups.sides import request

COMMIT, FETCH, FIND, JOIN, HEARTBEAT, LEAVE, SYNC, DESCRIBE, LIST = 8, 9, 10, 11, 12, 13, 14, 15, 16
DELETE, DELETE_OFFSETS = 42, 47
LAST_VERSIONS = {8: 10, 9: 10, 10: 6, 11: 9, 12: 4, 13: 5, 14: 5, 15: 6, 16: 5, 42: 2, 47: 0}
FIRST_VERSIONS = {8: 2, 9: 1}
TOPIC = "orders"
NO_TOPIC = "nothing"
OTHER_ID = UUID(int=7)
SUBSCRIBED = bytes.fromhex("0001 00000001 0006") + TOPIC.encode() + bytes.fromhex("ffffffff 00000000")
"""The metadata of a consumer of the topic, in version 1."""
SUBSCRIBED_ELSEWHERE = bytes.fromhex("0000 00000001 0007") + NO_TOPIC.encode() + bytes.fromhex("ffffffff")

Write = Callable[[Callable[[str], str]], Any]
"""Writes a request, given the ids of named members."""


@dataclass
class Client:
    """What one client knows."""

    member: str = ""
    instance: str | None = None
    generation: int = -1
    leads: bool = False
    members: list[str] = field(default_factory=list)
    protocol_type: str = "consumer"
    protocol: str | None = None
    phase: str = "out"
    """out, told (an id to come with), joined, synced"""


class Steps:
    """Draws requests for a group."""

    def __init__(self, rng: random.Random, group: str, topic_id: UUID) -> None:
        self._rng = rng
        self._group = group
        self._topic_id = topic_id
        self._waiting: set[str] = set()

    def draw(self, client: Client, others: list[Client], waiting: set[str]) -> tuple[str, Write]:
        """In whose name, and the request; in that of nobody who waits for an answer.

        `waiting` has their member ids and instance ids.
        """
        key = self._kind(client)
        version = self._rng.randint(FIRST_VERSIONS.get(key, 0), LAST_VERSIONS[key])
        self._waiting = waiting
        member = client.member
        if self._rng.random() < 0.1:
            member = self._rng.choice(["", "nonsense", *(other.member for other in others)])
        if member in waiting:
            member = "nonsense"
        draw = {
            COMMIT: self._commit,
            FETCH: self._fetch,
            FIND: self._find,
            JOIN: self._join,
            HEARTBEAT: self._heartbeat,
            LEAVE: self._leave,
            SYNC: self._sync,
            DESCRIBE: self._describe,
            LIST: self._list,
            DELETE: self._delete,
            DELETE_OFFSETS: self._delete_offsets,
        }[key]
        return member, draw(version, client, member)

    def _kind(self, client: Client) -> int:
        rng = self._rng
        if rng.random() < 0.2:
            return rng.choice([*LAST_VERSIONS])
        if client.phase in {"out", "told"}:
            return JOIN
        if client.phase == "joined":
            return SYNC
        return rng.choice([HEARTBEAT, HEARTBEAT, COMMIT, FETCH, JOIN, LEAVE, DESCRIBE, DELETE_OFFSETS, FETCH])

    def _generation(self, client: Client) -> int:
        return client.generation if self._rng.random() < 0.9 else self._rng.choice([-1, 0, client.generation + 1])

    def _named(self) -> str:
        return self._group if self._rng.random() < 0.98 else ""

    def _type(self) -> str:
        return "consumer" if self._rng.random() < 0.93 else self._rng.choice(["other", ""])

    def _join(self, version: int, client: Client, member: str) -> Write:
        rng = self._rng
        if client.phase == "out" and client.instance is None and rng.random() < 0.3:
            client.instance = rng.choice(["i-1", "i-2"])
        parts = request_classes(JOIN, version)
        names = sorted(rng.sample(["cooperative", "range", "sticky"], rng.choice([1, 2, 2, 3])))
        if rng.random() < 0.6:
            names = ["range", "sticky"]
        metadata = rng.choice([SUBSCRIBED, SUBSCRIBED, SUBSCRIBED_ELSEWHERE, b"x", rng.randbytes(3)])
        if rng.random() < 0.03:
            names = []
        fields = {
            "group_id": self._named(),
            "session_timeout": timedelta(seconds=900 if rng.random() < 0.97 else rng.choice([0, 3_600])),
            "rebalance_timeout": timedelta(seconds=900),
            "group_instance_id": client.instance if version >= 5 else None,
            "protocol_type": self._type(),
            "protocols": tuple(parts.JoinGroupRequestProtocol(name=name, metadata=metadata) for name in names),
            "reason": None,
        }
        return lambda ids: request(JOIN, version, member_id=ids(member), **fields)

    def _sync(self, version: int, client: Client, member: str) -> Write:
        parts = request_classes(SYNC, version)
        names = client.members if client.leads or self._rng.random() < 0.1 else []
        names = names if self._rng.random() < 0.9 else [*names[1:], "nonsense"]
        is_named = self._rng.random() < 0.97
        fields = {
            "group_id": self._named(),
            "generation_id": self._generation(client),
            "group_instance_id": client.instance,
            "protocol_type": self._type() if is_named else None,
            "protocol_name": client.protocol if is_named else None,
        }
        return lambda ids: request(
            SYNC,
            version,
            member_id=ids(member),
            assignments=tuple(
                parts.SyncGroupRequestAssignment(member_id=ids(name), assignment=b"for " + name.encode())
                for name in names
            ),
            **fields,
        )

    def _heartbeat(self, version: int, client: Client, member: str) -> Write:
        group, generation = self._named(), self._generation(client)
        return lambda ids: request(
            HEARTBEAT,
            version,
            group_id=group,
            generation_id=generation,
            member_id=ids(member),
            group_instance_id=client.instance,
        )

    def _leave(self, version: int, client: Client, member: str) -> Write:
        group = self._named()
        if version < 3:
            return lambda ids: request(LEAVE, version, group_id=group, member_id=ids(member))
        parts = request_classes(LEAVE, version)
        by_instance = client.instance not in {None, *self._waiting} and self._rng.random() < 0.4
        leaving = [("" if by_instance else member, client.instance)]
        leaving += [("nonsense", None)] * self._rng.choice([0, 0, 1])
        has_reason = {"reason": None} if version >= 5 else {}

        def write(ids: Callable[[str], str]) -> Any:
            members = tuple(
                parts.MemberIdentity(member_id=ids(each), group_instance_id=instance, **has_reason)
                for each, instance in leaving
            )
            return request(LEAVE, version, group_id=group, members=members)

        return write

    def _topic(self, version: int) -> dict[str, Any]:
        is_known = self._rng.random() < 0.85
        if version >= 10:
            return {"topic_id": self._topic_id if is_known else OTHER_ID}
        return {"name": TOPIC if is_known else NO_TOPIC}

    def _commit(self, version: int, client: Client, member: str) -> Write:
        rng = self._rng
        parts = request_classes(COMMIT, version)
        epoch = {"committed_leader_epoch": rng.choice([-1, 0, 3])} if version >= 6 else {}
        partitions = tuple(
            parts.OffsetCommitRequestPartition(
                partition_index=index,
                committed_offset=rng.randrange(1_000),
                committed_metadata=rng.choice([None, "", "note", "n" * 5_000]),
                **epoch,
            )
            for index in rng.sample([0, 1, 9], rng.choice([0, 1, 2]))
        )
        topics = (parts.OffsetCommitRequestTopic(partitions=partitions, **self._topic(version)),)
        alone = rng.random() < 0.2
        fields = {
            "group_id": self._group,
            "generation_id_or_member_epoch": -1 if alone else self._generation(client),
            "group_instance_id": None if alone else client.instance,
            "retention_time": timedelta(milliseconds=-1),
            "topics": topics,
        }
        return lambda ids: request(COMMIT, version, member_id="" if alone else ids(member), **fields)

    def _fetch(self, version: int, _: Client, __: str) -> Write:
        rng = self._rng
        parts = request_classes(FETCH, version)
        names = vars(parts)
        kind = names.get("OffsetFetchRequestTopics") or names["OffsetFetchRequestTopic"]
        asked: Any = (kind(partition_indexes=(0, 1, 5), **self._topic(version)),)
        if version >= 2 and rng.random() < 0.4:
            asked = None
        if version < 8:
            return lambda _: request(FETCH, version, group_id=self._group, topics=asked, require_stable=False)
        groups = tuple(
            request_group(parts, version, group, asked)
            for group in rng.sample([self._group, f"{self._group}-none", ""], rng.choice([1, 2]))
        )
        return lambda _: request(FETCH, version, groups=groups, require_stable=rng.random() < 0.5)

    def _find(self, version: int, _: Client, __: str) -> Write:
        keys = self._rng.sample([self._group, "another"], self._rng.choice([1, 2]))
        kind = self._rng.choice([0, 0, 0, 9])
        return lambda _: request(FIND, version, key=keys[0], key_type=kind, coordinator_keys=tuple(keys))

    def _describe(self, version: int, _: Client, __: str) -> Write:
        asks = self._rng.random() < 0.5
        groups = tuple(self._rng.sample([self._group, f"{self._group}-none"], self._rng.choice([1, 2])))
        return lambda _: request(DESCRIBE, version, groups=groups, include_authorized_operations=asks)

    def _list(self, version: int, _: Client, __: str) -> Write:
        states = self._rng.choice([(), ("Stable",), ("empty", "PreparingRebalance"), ("nonsense",)])
        types = self._rng.choice([(), ("classic",), ("Classic",), ("consumer",), ("nonsense",)])
        return lambda _: request(LIST, version, states_filter=states, types_filter=types)

    def _delete(self, version: int, _: Client, __: str) -> Write:
        groups = tuple(self._rng.sample([self._group, f"{self._group}-none", ""], self._rng.choice([1, 2, 3])))
        return lambda _: request(DELETE, version, groups_names=groups)

    def _delete_offsets(self, version: int, _: Client, __: str) -> Write:
        parts = request_classes(DELETE_OFFSETS, version)
        indexes = self._rng.sample([0, 1, 9], self._rng.choice([0, 1, 2]))
        partitions = tuple(parts.OffsetDeleteRequestPartition(partition_index=index) for index in indexes)
        names = self._rng.choice([(TOPIC,), (TOPIC,), (NO_TOPIC,), (TOPIC, NO_TOPIC)])
        topics = tuple(parts.OffsetDeleteRequestTopic(name=name, partitions=partitions) for name in names)
        group = self._rng.choice([self._group, self._group, self._group, f"{self._group}-none", ""])
        return lambda _: request(DELETE_OFFSETS, version, group_id=group, topics=topics)


def request_group(parts: Any, version: int, group: str, topics: Any) -> Any:
    """A group that an OffsetFetch asks about."""
    member = {"member_id": None, "member_epoch": -1} if version >= 9 else {}
    return parts.OffsetFetchRequestGroup(group_id=group, topics=topics, **member)
