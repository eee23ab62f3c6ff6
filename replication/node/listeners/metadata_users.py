"""Who may log in by SCRAM, by the cluster's metadata (KIP-554, KIP-900)."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from replication.metadata.image import ClusterImage
from replication.metadata.security_names import MECHANISMS
from replication.protocol.client.security import SaslMechanism
from replication.server.connections.listener_settings import ListenerSettings
from replication.server.security.no_users import NoUsers
from replication.server.security.scram_credential import DIGESTS, ScramCredential
from replication.server.security.users import Users

_MECHANISMS: Final[Mapping[str, int]] = {DIGESTS[SaslMechanism(name)]: number for number, name in MECHANISMS.items()}
"""The mechanisms' numbers in the metadata, by their digests."""


class MetadataUsers:
    """Those that the metadata has at a login, and others besides; PLAIN is for the others alone, as in Kafka.

    Whom the metadata has by any mechanism is no other's by SCRAM: a password that was replaced is good nowhere.
    """

    def __init__(self, image: Callable[[], ClusterImage], others: Users) -> None:
        """`image` returns the metadata as it is by now."""
        self._image: Final = image
        self._others: Final = others
        self._nobody: Final = NoUsers()

    def credential(self, name: str, digest: str | None) -> ScramCredential:
        """Return a user's for a digest."""
        if digest is None:
            return self._others.credential(name, digest)
        known = self._image().scram_credentials
        kept = known.get((_MECHANISMS[digest], name))
        if kept is None:
            is_known = any((each, name) in known for each in _MECHANISMS.values())
            return (self._nobody if is_known else self._others).credential(name, digest)
        return ScramCredential(
            digest=digest,
            salt=kept.salt,
            stored_key=kept.stored_key,
            server_key=kept.server_key,
            iterations=kept.iterations,
        )


def with_metadata_users(listener: ListenerSettings, image: Callable[[], ClusterImage]) -> ListenerSettings:
    """Return a listener whose users are those of the metadata too."""
    if listener.sasl is None:
        return listener
    return replace(listener, sasl=replace(listener.sasl, users=MetadataUsers(image, listener.sasl.users)))
