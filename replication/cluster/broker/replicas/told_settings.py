"""Reports settings of a broker, of the topics it has, or of clients that make no difference there."""

import logging
from collections.abc import Iterable, Mapping
from typing import Final

from replication.records.metadata.configurations import ConfigResource, ConfigResourceType
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.image_difference import entity_name
from replication.records.metadata.settings.ineffective_settings import ineffective_of_brokers, ineffective_of_topics

_log: Final = logging.getLogger(__name__)
_ALL: Final = ""
_NO_QUOTAS: Final = "no quota limits clients"


class ToldSettings:
    """Each setting is reported once, however many topics have it, and quotas by one client's. One thread looks."""

    def __init__(self, broker_id: int) -> None:
        """Create it with nothing reported."""
        self._names: Final[Mapping[str, str]] = {_ALL: "all brokers", str(broker_id): "this broker"}
        self._told: Final[set[str]] = set()
        self._has_told_quotas = False

    def take(self, image: ClusterImage, changed: Iterable[ConfigResource]) -> None:
        """Look at the settings that have changed, and at the quotas, until there are any."""
        if image.client_quotas and not self._has_told_quotas:
            self._has_told_quotas = True
            entity, limits = next(iter(image.client_quotas.items()))
            self._tell(entity_name(entity), dict.fromkeys(limits, _NO_QUOTAS))
        for resource in changed:
            settings = image.configurations.of(*resource)
            if resource.type == ConfigResourceType.TOPIC:
                self._tell(f"topic {resource.name}", ineffective_of_topics(settings))
            elif resource.type == ConfigResourceType.BROKER and resource.name in self._names:
                self._tell(self._names[resource.name], ineffective_of_brokers(settings, of_all=resource.name == _ALL))

    def _tell(self, whose: str, found: Mapping[str, str]) -> None:
        for name, why in found.items():
            if name not in self._told:
                self._told.add(name)
                _log.warning("%s, which is set for %s, makes no difference to this broker: %s", name, whose, why)
