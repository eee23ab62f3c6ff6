"""All that brokers and administrators ask of a controller over a network."""

from replication.broker.requests.cluster.described_settings import DescribedSettings
from replication.broker.requests.known_cluster import KnownCluster
from replication.protocol.messages import describe_cluster, describe_configs, describe_quorum, fetch, fetch_snapshot
from replication.server.served_api import ServedApi, ServedApis
from replication.standalone.quorum import envelopes
from replication.standalone.quorum.described_controllers import DescribedControllers
from replication.standalone.quorum.envelopes import Envelopes
from replication.standalone.quorum.led_quorum import LedQuorum
from replication.standalone.quorum.metadata_fetches import MetadataFetches
from replication.standalone.quorum.snapshot_pieces import SnapshotPieces
from replication.standalone.requests.administration_apis import administration_apis
from replication.standalone.requests.broker_requests import BrokerRequests
from replication.standalone.static_controller import StaticController


def controller_apis(controller: StaticController, quorum: LedQuorum) -> ServedApis:
    """Return what a controller answers who leads this quorum (Kafka: ControllerApis).

    Brokers pass on what they were asked by administrators (KIP-590). Requests end with ControllerFailedError where the
    metadata could not be written.
    """
    described = DescribedControllers(quorum)
    known = KnownCluster(quorum.cluster_id, quorum.node_id, lambda: controller.published.image)
    passed_on: ServedApis = {
        **administration_apis(controller),
        describe_quorum.API_KEY: ServedApi(describe_quorum.VERSIONS, described.quorum),
    }
    return {
        **BrokerRequests(controller).apis(),
        **passed_on,
        fetch.API_KEY: ServedApi(fetch.VERSIONS, MetadataFetches(quorum).answer),
        fetch_snapshot.API_KEY: ServedApi(fetch_snapshot.VERSIONS, SnapshotPieces(quorum).answer),
        describe_cluster.API_KEY: ServedApi(describe_cluster.VERSIONS, described.cluster),
        describe_configs.API_KEY: ServedApi(describe_configs.VERSIONS, DescribedSettings(known).answer),
        envelopes.API_KEY: ServedApi(envelopes.VERSIONS, Envelopes(passed_on).answer),
    }
