"""A broker's listeners: what is advertised of them, and who may log in by SCRAM, by the metadata (KIP-554, KIP-900)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from replication.records.metadata.image import ClusterImage
from replication.records.metadata.security_names import MECHANISMS
from replication.wire.addresses import Address
from replication.wire.client.security import SaslMechanism
from replication.wire.messages.broker_registration import Listener, SecurityProtocol
from replication.wire.server.advertised_address import advertised_address
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.security.no_users import NoUsers
from replication.wire.server.security.scram_credential import DIGESTS, ScramCredential, ScramShape
from replication.wire.server.security.users import Users

_MECHANISMS: Final[Mapping[str, int]] = {DIGESTS[SaslMechanism(name)]: number for number, name in MECHANISMS.items()}
"""The mechanisms' numbers in the metadata, by their digests."""


def advertised_listeners(listeners: Sequence[ListenerSettings], bound: Mapping[str, Address]) -> tuple[Listener, ...]:
    """Return those that are advertised; `bound` has where each listens, by its name."""
    return tuple(
        Listener(each.name, *_address(each, bound[each.name]), _protocol(each))
        for each in listeners
        if each.is_advertised
    )


def _address(listener: ListenerSettings, bound: Address) -> Address:
    told = listener.advertised or Address("", 0)
    address = advertised_address(bound, told.host)
    return address._replace(port=told.port or address.port)


def _protocol(listener: ListenerSettings) -> SecurityProtocol:
    return SecurityProtocol[f"{'SASL_' if listener.sasl else ''}{'SSL' if listener.tls else 'PLAINTEXT'}"]


class MetadataUsers(Users):
    """Those that the metadata has at a login, and others besides; PLAIN is for the others alone, as in Kafka.

    Whom the metadata has by any mechanism is no other's by SCRAM: a password that was replaced is good nowhere.
    """

    def __init__(self, image: Callable[[], ClusterImage], others: Users) -> None:
        """`image` returns the metadata as it is by now."""
        self._image: Final = image
        self._others: Final = others
        self._nobody: Final = NoUsers(self.shapes)

    def credential(self, name: str, digest: str | None) -> ScramCredential:
        """Return a user's for a digest."""
        if digest is None:
            return self._others.credential(name, digest)
        known = self._image().scram_credentials
        kept = known.get((_MECHANISMS[digest], name))
        if kept is None:
            other = self._others.credential(name, digest)
            is_known = any((each, name) in known for each in _MECHANISMS.values())
            return self._nobody.credential(name, digest) if is_known or other.is_nobodys else other
        return ScramCredential(
            digest=digest,
            salt=kept.salt,
            stored_key=kept.stored_key,
            server_key=kept.server_key,
            iterations=kept.iterations,
        )

    def shapes(self, digest: str) -> Collection[ScramShape]:
        """Return what the credentials of those look like who are known."""
        number = _MECHANISMS[digest]
        known = self._image().scram_credentials.items()
        kept = {ScramShape(each.iterations, len(each.salt)) for (mechanism, _), each in known if mechanism == number}
        return kept.union(self._others.shapes(digest))


def with_metadata_users(listener: ListenerSettings, image: Callable[[], ClusterImage]) -> ListenerSettings:
    """Return a listener whose users are those of the metadata too."""
    if listener.sasl is None:
        return listener
    return replace(listener, sasl=replace(listener.sasl, users=MetadataUsers(image, listener.sasl.users)))
