"""A setting that makes no difference to a broker is told of, once."""

import pytest

from replication.cluster.broker.replicas.told_settings import ToldSettings
from replication.records.metadata.configurations import UNCLEAN_LEADER_ELECTION as UNCLEAN
from replication.records.metadata.configurations import ConfigResource, ConfigResourceType
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.records import ClientQuotaRecord, ConfigRecord, QuotaEntity
from replication.records.metadata.settings.ineffective_settings import OF_BROKERS, OF_ONE_BROKER, OF_TOPICS

TOPIC, BROKER = ConfigResourceType.TOPIC, ConfigResourceType.BROKER


def take(told: ToldSettings, *given: tuple[int, str, str, str]) -> None:
    image = ClusterImage()
    for type_, resource, name, value in given:
        image.replay(ConfigRecord(resource_type=type_, resource_name=resource, name=name, value=value))
    told.take(image, [ConfigResource(type_, resource) for type_, resource, *_ in given])


def test_each_setting_is_told_of_once_with_who_has_it_and_why(caplog: pytest.LogCaptureFixture) -> None:
    told = ToldSettings(1)
    take(told, (TOPIC, "orders", "preallocate", "true"), (TOPIC, "paid", "preallocate", "true"))
    take(told, (BROKER, "", "num.io.threads", "8"), (BROKER, "1", "num.io.threads", "9"))
    take(told, (BROKER, "1", UNCLEAN, "true"))
    no_difference = "makes no difference to this broker"
    assert [each.getMessage() for each in caplog.records] == [
        f"preallocate, which is set for topic orders, {no_difference}: {OF_TOPICS['preallocate']}",
        f"num.io.threads, which is set for all brokers, {no_difference}: {OF_BROKERS['num.io.threads']}",
        f"{UNCLEAN}, which is set for this broker, {no_difference}: {OF_ONE_BROKER[UNCLEAN]}",
    ]


def test_quotas_of_clients_are_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    told, image = ToldSettings(1), ClusterImage()
    told.take(image, [])
    assert not caplog.records
    for user in ("alice", None):
        entity = (QuotaEntity(entity_type="user", entity_name=user),)
        image.replay(ClientQuotaRecord(entity=entity, key="producer_byte_rate", value=1024.0))
        told.take(image, [])
    assert [each.getMessage() for each in caplog.records] == [
        "producer_byte_rate, which is set for user alice, makes no difference to this broker: no quota limits clients"
    ]


def test_of_what_makes_a_difference_and_of_others_settings_nothing_is_told(caplog: pytest.LogCaptureFixture) -> None:
    take(
        ToldSettings(1),
        (TOPIC, "orders", "retention.ms", "5"),
        (TOPIC, "orders", "preallocate", "false"),
        (BROKER, "", UNCLEAN, "true"),
        (BROKER, "2", "num.io.threads", "8"),
        (ConfigResourceType.GROUP, "1", "num.io.threads", "8"),
    )
    assert not caplog.records
