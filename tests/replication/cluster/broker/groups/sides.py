"""The same requests to a real coordinator and to ours, and their answers in terms that can be compared."""

import re
from contextlib import suppress
from dataclasses import asdict
from typing import Any, NamedTuple, Self

from replication.cluster.broker.groups.coordinator import GroupCoordinator
from replication.cluster.broker.groups.group_settings import GroupSettings
from replication.cluster.broker.groups.requests.group_apis import group_apis
from replication.records.metadata.image import ClusterImage
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.connection import Connection
from replication.wire.encoding.kio_messages import read, request_class, write
from replication.wire.error_code import ErrorCode
from replication.wire.errors import RequestTimedOutError
from replication.wire.messages.topic_ids import Endpoint
from replication.wire.server.call import Call, Caller
from replication.wire.server.pending import Pending

CLIENT = "tester"
SECONDS_TO_ANSWER = 60
UNNAMED = re.compile("-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
"""What ends the id of a member that has not been told it yet."""


class FakeClock:
    """Time that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Ours:
    """Our coordinator, as a broker would serve it."""

    def __init__(self, address: str, image: ClusterImage, settings: GroupSettings) -> None:
        host, port = address.split(":")
        self.clock = FakeClock()
        self.coordinator = GroupCoordinator(settings, clock=self.clock)
        endpoint = Endpoint(1, host, int(port))
        self.apis = group_apis(self.coordinator, image=lambda: image, endpoint=lambda _, __: endpoint)

    def ask(self, request: Any) -> "Asked":
        """Pass a request on, of kio's classes."""
        call = Call(request.__version__, Caller("127.0.0.1"), CLIENT)
        answer = self.apis[request.__api_key__].answer(read(type(request), write(request)), call)
        is_pending = hasattr(answer, "expire")
        return Asked(answer if is_pending else None, None if is_pending else answer)


class Asked(NamedTuple):
    """What our coordinator said to a request."""

    pending: Pending | None
    told: Any

    @property
    def answer(self) -> Any | None:
        """The answer, as soon as there is one."""
        found = self.told if self.pending is None else self.pending.answer()
        return None if found is None else read(type(found), write(found))


class Slot:
    """A client of both: a connection to the real broker, and a request that waits."""

    def __init__(self, address: str) -> None:
        self.connection = Connection.open(address, ClientSettings(client_id=CLIENT))
        self.waits_in_ours: Asked | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def real_answer(self, seconds: float) -> Any | None:
        """What the real broker says within some time."""
        with suppress(RequestTimedOutError):
            return self.connection.receive(round(seconds * 1000))[1]
        return None


class Ids:
    """Names for the member ids, which each side makes for itself."""

    def __init__(self) -> None:
        self.real: dict[str, str] = {}
        self.ours: dict[str, str] = {}

    def learn(self, real: Any, ours: Any) -> None:
        """Give a name to the member that two answers are for."""
        ids = getattr(real, "member_id", ""), getattr(ours, "member_id", "")
        if all(ids) and ids[0] not in self.real and ids[1] not in self.ours:
            self.real[ids[0]] = self.ours[ids[1]] = f"m{len(self.real)}"

    def real_id(self, name: str) -> str:
        """The real broker's id of a member; anything else as it is."""
        return next((real for real, known in self.real.items() if known == name), name)

    def our_id(self, name: str) -> str:
        """Our id of a member; anything else as it is."""
        return next((ours for ours, known in self.ours.items() if known == name), name)


def plain(answer: Any, names: dict[str, str]) -> Any:
    """An answer with named members, in an order that does not depend on their ids."""
    return _plain(asdict(answer), names)


def _plain(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        words = {"error_message"} if value.get("error_code") not in {None, ErrorCode.NONE} else set()
        return {key: _plain(each, names) for key, each in value.items() if key not in words}
    if isinstance(value, tuple | list):
        return sorted((_plain(each, names) for each in value), key=repr)
    if isinstance(value, str):
        return names.get(value) or UNNAMED.sub("-?", value)
    return value.name if hasattr(value, "retriable") or hasattr(value, "name") else value


def request(api_key: int, version: int, **fields: Any) -> Any:
    """A request of kio's, of those fields that the version has."""
    kind = request_class(api_key, version)
    return kind(**{name: fields[name] for name in kind.__dataclass_fields__ if name in fields})
