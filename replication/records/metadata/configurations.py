"""What administrators have set for topics, brokers and others (Kafka: ConfigurationsImage)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from replication.records.metadata.read_only import read_only
from replication.records.metadata.records import ConfigRecord

MIN_IN_SYNC_REPLICAS: Final = "min.insync.replicas"
UNCLEAN_LEADER_ELECTION: Final = "unclean.leader.election.enable"


class ConfigResourceType(IntEnum):
    """What can have settings (Kafka: ConfigResource.Type)."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    """Who has settings; an empty name stands for the default of all of the type."""

    type: int
    name: str


_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(slots=True)
class Configurations:
    """The settings by resource, and by their names."""

    by_resource: dict[ConfigResource, dict[str, str]] = field(default_factory=dict)

    def of(self, type_: int, name: str) -> Mapping[str, str]:
        """Return what is set for a resource itself, without the defaults."""
        return self.by_resource.get(ConfigResource(type_, name), _NOTHING)

    def replay(self, record: ConfigRecord) -> None:
        """Set something, or forget it where the value is None."""
        resource = ConfigResource(record.resource_type, record.resource_name)
        # A new mapping each time: a frozen copy may share the one before.
        settings = {**self.of(*resource)}
        if record.value is not None:
            settings[record.name] = record.value
        else:
            settings.pop(record.name, None)
        self._put(resource, settings)

    def remove(self, resource: ConfigResource) -> None:
        """Forget all settings of a resource."""
        self.by_resource.pop(resource, None)

    def frozen(self) -> "Configurations":
        """Return a copy that nothing changes any more."""
        return Configurations(read_only(dict(self.by_resource)))

    def records(self) -> Iterator[ConfigRecord]:
        """Give the records that say all this."""
        for resource, settings in self.by_resource.items():
            for name, value in settings.items():
                yield ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=value)

    def _put(self, resource: ConfigResource, settings: dict[str, str]) -> None:
        if settings:
            self.by_resource[resource] = settings
        else:
            self.remove(resource)
