"""What joins a broker to controllers on a network, ours or Kafka's."""

import os
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Final

from logstore.log.state.waiters import Waiter, Waiters
from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.cluster.broker.broker_settings import SESSION_TIMEOUT_MS
from replication.cluster.broker.events.trouble import Trouble
from replication.cluster.broker.events.trouble_events import TroubleKind
from replication.cluster.broker.lifecycle.controller_channel import ControllerChannel
from replication.cluster.node.forwarded_apis import ForwardedApis
from replication.cluster.node.metadata_feed import MetadataFeed
from replication.cluster.quorum.active_controller import ActiveController
from replication.cluster.quorum.errors import MetadataRefusedError
from replication.cluster.quorum.followed_metadata import FollowedMetadata
from replication.cluster.quorum.local_metadata import LocalMetadata
from replication.cluster.quorum.metadata_follower import MetadataFollower
from replication.cluster.quorum.metadata_observer import MetadataObserver
from replication.cluster.quorum.quorum_standing import QuorumStanding
from replication.cluster.quorum.snapshot_terms import SnapshotTerms
from replication.cluster.quorum.snapshot_thread import SnapshotThread
from replication.records.metadata.image_publisher import PublishedImage
from replication.wire.addresses import Address, parse_addresses
from replication.wire.client.client_settings import ClientSettings
from replication.wire.server.served_api import ServedApis

_DEFAULT: Final = ClientSettings()


class NetworkLink:
    """Finds the quorum's leader, follows the metadata and asks by connections (see `replication.node.ControllerLink`).

    It is good for one start of one broker.
    """

    def __init__(
        self,
        controllers: str | Iterable[Address],
        identity: BrokerIdentity,
        client_settings: ClientSettings = _DEFAULT,
        *,
        metadata_directory: str | os.PathLike[str] | None = None,
        metadata: LocalMetadata | None = None,
        snapshots: SnapshotTerms | None = None,
        request_timeout_ms: int = SESSION_TIMEOUT_MS,
        hear: Callable[[int], object] = lambda _: None,
    ) -> None:
        """Connect later: `controllers` are the ones to try first (Kafka: controller.quorum.bootstrap.servers).

        `client_settings` say how their listener is protected; what they are asked may take as long as a session
        lasts, after which it is of no use (Kafka: broker.session.timeout.ms). `metadata_directory` is where a copy of
        the metadata is kept, from which the next start continues (Kafka: metadata.log.dir), apart from the broker's
        logs; without one all metadata is fetched at each start. A copy within the broker's log.dirs has to be open
        before they are: `metadata` is such a copy, which the link takes over; by the terms of `snapshots` it does not
        grow for ever. `hear` is called with what the clock of the quorum's leader showed, in milliseconds since 1970
        UTC, as it wrote the latest records that are fetched. Raises InvalidAddressError.
        """
        self._metadata: Final = metadata
        self._controller: Final = ActiveController()
        self._client_settings: Final = client_settings
        self._request_timeout_ms: Final = request_timeout_ms
        self._feeding: Final = Lock()
        self._feeds: Final[list[MetadataFeed]] = []
        self._waiters: Final = Waiters()
        self._forwarded: Final[list[ForwardedApis]] = []
        self._follower: Final = MetadataFollower(
            parse_addresses(controllers) if isinstance(controllers, str) else tuple(controllers),
            lambda: _followed(identity, metadata, metadata_directory, hear),
            client_settings,
            self._controller,
            _Published(self),
            self._failed,
        )
        self._snapshots: Final = (
            SnapshotThread(metadata, lambda: self._follower.published, snapshots)
            if metadata is not None and snapshots is not None
            else None
        )

    @property
    def is_remote(self) -> bool:
        """True."""
        return True

    def begin(self, broker_id: int) -> None:
        """Begin to follow the metadata, and to look for who leads. Raises RuntimeError the second time."""
        del broker_id
        self._follower.start()
        if self._snapshots is not None:
            self._snapshots.start()

    def channel(self) -> ControllerChannel:
        """Return what one thread asks by."""
        return ControllerChannel(self._controller, self._client_settings, self._request_timeout_ms)

    def metadata(self, waiter: Waiter) -> MetadataFeed:
        """Return the feed of the metadata as far as it is committed."""
        with self._feeding:
            feed = MetadataFeed(self._follower.published, self._drop, lambda: self._follower.as_of_ms)
            feed.failure = self._follower.failure
            self._feeds.append(feed)
            self._waiters.add(waiter)
        if feed.failure is not None:
            waiter.wake()
        return feed

    def standing(self) -> QuorumStanding:
        """Return where it stood after the last answer."""
        return self._follower.standing

    def administration(self, node_id: int) -> ServedApis:
        """Return what passes the requests of administrators on, and the controller's answers back."""
        del node_id
        forwarded = ForwardedApis(self.channel())
        self._forwarded.append(forwarded)
        return forwarded.apis()

    def close(self) -> None:
        """Follow the metadata no more, and let nobody wait for a controller."""
        for forwarded in self._forwarded:
            forwarded.close()
        if self._snapshots is not None:
            self._snapshots.stop()
        self._follower.stop()
        self._controller.close()
        if self._metadata is not None:
            self._metadata.close()

    def published(self, published: PublishedImage) -> None:
        """Pass on what has been committed."""
        with self._feeding:
            for feed in self._feeds:
                feed.put(published)
        self._waiters.wake()

    def _failed(self, error: BaseException) -> None:
        with self._feeding:
            for feed in self._feeds:
                feed.failure = error
        self._waiters.wake()

    def _drop(self, feed: MetadataFeed) -> None:
        with self._feeding:
            self._feeds.remove(feed)


def _followed(
    identity: BrokerIdentity,
    metadata: LocalMetadata | None,
    directory: str | os.PathLike[str] | None,
    hear: Callable[[int], object],
) -> FollowedMetadata:
    if metadata is None:
        return FollowedMetadata.open(identity.broker_id, identity.cluster_id, directory, hear)
    return FollowedMetadata(identity.broker_id, identity.cluster_id, metadata, hear)


class _Published(MetadataObserver):
    """Passes on what the follower publishes, and reports where it cannot follow."""

    def __init__(self, link: NetworkLink) -> None:
        self._link: Final = link
        self._trouble: Final = Trouble(TroubleKind.METADATA)

    def metadata_interrupted(self, error: Exception) -> None:
        self._trouble.begin(str(error), error.code.name if isinstance(error, MetadataRefusedError) else "")

    def controller_changed(self, address: str) -> None:
        del address
        self._trouble.end()

    def metadata_published(self, published: PublishedImage) -> None:
        self._link.published(published)
