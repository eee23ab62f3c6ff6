"""Kafka's command-line tools do on a broker of ours what they are for, and what they leave is sound."""

import random
from collections.abc import Iterator

import pytest

from logstore import open_offline
from logstore.verify.verify import verify
from tests.campaign import Campaign
from tests.oracle.log_dump import dump_files
from tests.oracle.release import KafkaRelease
from tests.oracle.tools import KafkaTools
from tests.replication.cluster.standalone.alone import alone
from tests.replication.cluster.standalone.clients import seen
from tests.replication.cluster.standalone.java_clients import CHECKS, Tools

CAMPAIGN = Campaign("clients: Kafka's tools", full=10, share=4)
IN_TURN = random.Random(CAMPAIGN.seed).sample(sorted(CHECKS), CAMPAIGN.count)


@pytest.fixture(scope="module")
def tools(release: KafkaRelease, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    directory = tmp_path_factory.mktemp("tools")
    with KafkaTools(release) as tools, alone(directory / "logs") as broker:
        yield Tools(broker, tools, directory, CAMPAIGN.seed)


@pytest.mark.parametrize("check", IN_TURN)
def test_kafkas_tools_do_what_they_are_for(tools: Tools, check: str) -> None:
    CHECKS[check](tools)


def test_what_they_leave_is_sound_and_there_after_a_restart(tools: Tools, release: KafkaRelease) -> None:
    hosted = tools.broker.local.replicas.hosted
    before = {partition: seen(each.log) for partition, each in hosted.items()}
    tools.broker.close()
    root = tools.directory / "logs"
    found = list(verify(open_offline(root), records=True))
    assert [each for each in found if each.severity.needs_attention] == []
    dumped = dump_files(release, sorted(root.glob("*-*/*.log")))
    for partition, records in before.items():
        printed = dumped[root / str(partition) / "00000000000000000000.log"].records
        # The file still has the records that have been deleted.
        offsets = [int(each["offset"]) for each in printed][-len(records) :]
        assert offsets == [each.offset for each in records]
    with alone(root) as again:
        assert {partition: seen(each.log) for partition, each in again.local.replicas.hosted.items()} == before
    assert len(CHECKS) == CAMPAIGN.full
    CAMPAIGN.report(len(IN_TURN), beside=release)
