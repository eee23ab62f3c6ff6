"""A simulated cluster does what a real one does, and the same each time."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.verify.verify import verify_root
from replication.testing import CLIENT, CONTROLLER, NetworkFaults, SimulatedCluster, SimulatedRecord
from replication.testing.errors import NotReachedError
from replication.wire.error_code import ErrorCode
from replication.wire.messages.broker_registration import BrokerRegistrationResponse

TOPIC = "orders"
TWO_IN_SYNC = {"min.insync.replicas": "2"}
FAULTS = NetworkFaults(lost=0.05, late=0.1)


def cluster_of(*, seed: int = 7, with_elr: bool = True, faults: NetworkFaults = NetworkFaults()) -> SimulatedCluster:  # noqa: B008
    cluster = SimulatedCluster(3, seed=seed, eligible_leader_replicas=with_elr, faults=faults)
    cluster.create_topic(TOPIC, replicas=[(1, 2, 3)], configs=TWO_IN_SYNC)
    return cluster


def acknowledged(cluster: SimulatedCluster, *values: bytes) -> list[SimulatedRecord]:
    sent = [cluster.produce(TOPIC, value) for value in values]
    cluster.run_until(lambda: all(each.is_acknowledged for each in sent), "all is acknowledged", milliseconds=300_000)
    return sent


def values(cluster: SimulatedCluster) -> list[bytes | None]:
    return [record.value for record in cluster.fetch(TOPIC)]


def all_in_sync(cluster: SimulatedCluster) -> None:
    cluster.run_until(lambda: len(cluster.partition(TOPIC).isr) == 3, "all are in sync")


def test_time_passes_only_as_it_is_told_to() -> None:
    with cluster_of() as cluster:
        before, digest = cluster.clock_ms, cluster.trace_digest
        sent = cluster.produce(TOPIC, b"first")
        assert (cluster.clock_ms, cluster.trace_digest) == (before, digest)
        cluster.run(milliseconds=2_000)
        assert cluster.clock_ms == before + 2_000
        assert sent.offset == 0
        assert values(cluster) == [b"first"]


def test_what_all_in_sync_have_survives_the_loss_of_the_leader() -> None:
    with cluster_of() as cluster:
        acknowledged(cluster, b"first")
        assert cluster.kill(1, lose_unflushed=True) > 0
        acknowledged(cluster, b"second")
        assert cluster.leader(TOPIC) in (2, 3)
        cluster.start(1)
        all_in_sync(cluster)
        assert values(cluster) == [b"first", b"second"]
        assert cluster.log(1, TOPIC).log_end_offset == 2


def test_what_only_the_leader_has_acknowledged_may_be_lost() -> None:
    with cluster_of() as cluster:
        for other in (2, 3):
            cluster.cut(1, other)
        cluster.run(10)
        sent = cluster.produce(TOPIC, b"first", acks=1)
        cluster.run(100)
        assert sent.offset == 0
        assert values(cluster) == []
        cluster.kill(1)
        cluster.run_until(lambda: cluster.leader(TOPIC) != 1 and cluster.is_led(TOPIC), "another leads")
        assert cluster.log(cluster.leader(TOPIC), TOPIC).log_end_offset == 0


def test_nothing_is_acknowledged_while_too_few_are_in_sync() -> None:
    with cluster_of() as cluster:
        cluster.kill(2)
        cluster.kill(3)
        cluster.run_until(lambda: cluster.partition(TOPIC).isr == (1,), "one alone is in sync")
        sent = cluster.produce(TOPIC, b"first")
        cluster.run(2_000)
        assert not sent.is_acknowledged
        assert sent.refusals > 0
        cluster.start(2)
        cluster.run_until(lambda: sent.is_acknowledged, "the record is acknowledged")
        assert values(cluster) == [b"first"]


@pytest.mark.parametrize("with_elr", [True, False])
def test_eligible_leader_replicas_keep_what_the_last_in_sync_loses(with_elr: bool) -> None:
    with cluster_of(with_elr=with_elr) as cluster:
        acknowledged(cluster, b"first")
        for broker in (3, 2):
            cluster.stop(broker)
            cluster.run(1_000)
            assert not cluster.is_up(broker)
        assert cluster.partition(TOPIC).isr == (1,)
        cluster.kill(1, lose_unflushed=True)
        cluster.start(1)
        cluster.run(5_000)
        assert cluster.is_led(TOPIC) is not with_elr
        for broker in (2, 3):
            cluster.start(broker)
        all_in_sync(cluster)
        assert values(cluster) == ([b"first"] if with_elr else [])


def test_a_broker_that_nobody_reaches_is_fenced_and_comes_back() -> None:
    with cluster_of() as cluster:
        for other in (2, 3, CONTROLLER):
            cluster.cut(1, other)
        cluster.run_until(lambda: cluster.leader(TOPIC) != 1, "another leads")
        assert cluster.image.brokers[1].fenced
        cluster.heal()
        all_in_sync(cluster)
        assert not cluster.image.brokers[1].fenced


def test_a_client_that_is_cut_off_is_not_answered() -> None:
    with cluster_of() as cluster:
        cluster.cut(CLIENT, 1)
        sent = cluster.produce(TOPIC, b"first")
        cluster.run(5_000)
        assert not sent.is_acknowledged
        cluster.mend(CLIENT, 1)
        cluster.run(5_000)
        assert sent.is_acknowledged


def test_a_paused_broker_does_nothing_until_it_goes_on() -> None:
    with cluster_of() as cluster:
        cluster.pause(3)
        acknowledged(cluster, b"first")
        assert cluster.log(3, TOPIC).log_end_offset == 0
        assert 3 not in cluster.partition(TOPIC).isr
        cluster.resume(3)
        all_in_sync(cluster)
        assert cluster.log(3, TOPIC).log_end_offset == 1


def test_a_broker_that_stops_hands_over_first_and_leaves_sound_files(tmp_path: Path) -> None:
    with SimulatedCluster(3, seed=7, directory=tmp_path) as cluster:
        cluster.create_topic(TOPIC, replicas=[(1, 2, 3)], configs=TWO_IN_SYNC)
        acknowledged(cluster, b"first")
        cluster.stop(1)
        assert cluster.is_leaving(1)
        cluster.run_until(lambda: not cluster.is_up(1), "it has stopped", milliseconds=1_000)
        assert cluster.leader(TOPIC) in (2, 3)
        assert list(verify_root(OfflineLogDirectory.open(cluster.root(1)), records=True)) == []
    assert (tmp_path / "broker-1").is_dir()


def test_a_bad_network_delays_and_repeats_and_yet_each_record_is_there_once() -> None:
    with cluster_of(faults=FAULTS) as cluster:
        sent = acknowledged(cluster, *(b"%d" % number for number in range(30)))
        assert sum(each.refusals for each in sent) > 0
        assert values(cluster) == [each.value for each in sent]


def test_a_follower_tells_consumers_what_it_knows_to_be_committed() -> None:
    with cluster_of() as cluster:
        acknowledged(cluster, b"first", b"second")
        cluster.run(1_000)
        assert [record.value for record in cluster.fetch(TOPIC, offset=1, broker_id=2)] == [b"second"]
        cluster.kill(2)
        with pytest.raises(ValueError, match="broker 2 does not answer"):
            cluster.fetch(TOPIC, broker_id=2)
        with pytest.raises(ValueError, match="OFFSET_OUT_OF_RANGE"):
            cluster.fetch(TOPIC, offset=9)


@pytest.mark.parametrize("brokers", [1, 5])
def test_it_has_as_many_brokers_as_are_wanted(brokers: int) -> None:
    with SimulatedCluster(brokers) as cluster:
        cluster.create_topic(TOPIC, partitions=brokers)
        sent = [cluster.produce(TOPIC, b"first", number) for number in range(brokers)]
        cluster.run(2_000)
        assert all(each.offset == 0 for each in sent)
        assert len(cluster.image.brokers) == brokers
        assert len(cluster.partition(TOPIC).replicas) == min(brokers, 3)


def test_what_cannot_be_done_is_refused() -> None:
    with cluster_of() as cluster:
        with pytest.raises(ValueError, match="pass 1 or -1"):
            cluster.produce(TOPIC, b"", acks=0)
        with pytest.raises(ValueError, match="broker 1 is up"):
            cluster.start(1)
        with pytest.raises(ValueError, match="TOPIC_ALREADY_EXISTS"):
            cluster.create_topic(TOPIC)
        with pytest.raises(NotReachedError, match="that it is so"):
            cluster.run_until(lambda: False, "it is so", milliseconds=100)
        cluster.kill(1)
        for refused in (cluster.kill, cluster.stop, cluster.pause, cluster.resume):
            with pytest.raises(ValueError, match="broker 1 is down"):
                refused(1)


def test_a_dead_starts_late_registration_does_not_take_the_place_of_the_living_one() -> None:
    with cluster_of() as cluster:
        dead = cluster._machines[1].broker
        assert dead is not None
        cluster.kill(1)
        cluster.start(1)
        cluster.run_until(lambda: cluster.is_running(1), "it runs again")
        epoch = cluster.image.brokers[1].epoch
        answers: list[BrokerRegistrationResponse] = []
        cluster._controller.serve(dead._registration, answers.append)
        assert [each.error for each in answers] == [ErrorCode.DUPLICATE_BROKER_REGISTRATION]
        cluster.run(5_000)
        assert (cluster.is_running(1), cluster.image.brokers[1].epoch) == (True, epoch)


def test_a_broker_ends_in_whose_place_another_process_has_registered() -> None:
    with cluster_of() as cluster:
        broker = cluster._machines[1].broker
        assert broker is not None
        cluster._controller.end_session(1)
        cluster._controller.serve(replace(broker._registration, incarnation_id=UUID(int=1)), lambda _: None)
        cluster.run_until(lambda: not cluster.is_up(1), "it has ended")
        cluster.start(1)
        cluster.run_until(lambda: len(cluster.partition(TOPIC).isr) == 3, "it has come back")


def test_its_files_are_gone_with_it() -> None:
    with cluster_of() as cluster:
        directory = cluster.directory
        assert directory.is_dir()
    assert not directory.exists()
    cluster.close()


STORY = """
from replication.testing import NetworkFaults, SimulatedCluster
with SimulatedCluster(3, seed={seed}, faults=NetworkFaults(lost=0.05, late=0.1)) as cluster:
    cluster.create_topic("orders", partitions=5, replication_factor=3)
    sent = [cluster.produce("orders", b"%d" % number, number % 5) for number in range(50)]
    cluster.run(1_000)
    cluster.kill(cluster.leader("orders"), lose_unflushed=True)
    cluster.run(10_000)
    print(cluster.trace_digest)
"""


def digest_in_another_process(seed: int, hash_seed: int) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    command = [sys.executable, "-c", STORY.format(seed=seed)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def test_the_same_seed_gives_the_same_history_in_any_process() -> None:
    digests = [digest_in_another_process(seed, hash_seed) for seed, hash_seed in ((1, 1), (1, 2), (2, 1))]
    assert digests[0] == digests[1]
    assert digests[0] != digests[2]
