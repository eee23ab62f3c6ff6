"""All brokers stop in order, and what the last one has lost meanwhile is not lost by the others.

The last one comes first: it was the last in the ISR. Without the checks of its files it is elected, and sound replicas
are cut to what it has left.
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import pytest

from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from replication.records.metadata.records import NO_LEADER
from replication.testing import SimulatedCluster
from tests.campaign import Campaign
from tests.replication.lost_files import DAMAGES, LOSSES, LOST_SEGMENTS, Loss, lose_all_but_the_marker

LAST, OTHERS = 1, (2, 3)
EARLIER, LATER = 8, 12
ALL_LOSSES = {**LOSSES, **LOST_SEGMENTS}
VALUES = [b"%d" % number for number in range(EARLIER + LATER)]


@contextmanager
def stopped(
    directory: Path,
    *,
    seed: int,
    with_eligible: bool,
    min_isr: int,
    unclean_allowed: bool = False,
    order: Sequence[int] = (*OTHERS, LAST),
) -> Iterator[SimulatedCluster]:
    """A cluster whose brokers have all stopped in order, with all records in all replicas, and an older copy."""
    with SimulatedCluster(3, seed=seed, eligible_leader_replicas=with_eligible, directory=directory) as cluster:
        configs = {
            "min.insync.replicas": str(min_isr),
            "unclean.leader.election.enable": str(unclean_allowed).lower(),
        }
        cluster.create_topic("orders", replicas=[[LAST, *OTHERS]], configs=configs)
        for number in range(0, EARLIER, 4):
            send(cluster, VALUES[number : number + 4])
            cluster.log(LAST, "orders").roll()
        stop(cluster, LAST)
        shutil.copytree(cluster.root(LAST) / "orders-0", directory / "older")
        cluster.start(LAST)
        cluster.run_until(lambda: len(cluster.partition("orders").isr) == 3, "all are in sync again")
        send(cluster, VALUES[EARLIER:])
        # What it has lost it must have said that it has.
        cluster.run_until(lambda: cluster.log(LAST, "orders").high_watermark == len(VALUES), "all is committed")
        for broker in order:
            stop(cluster, broker)
        yield cluster


def send(cluster: SimulatedCluster, values: list[bytes]) -> None:
    for value in values:
        sent = cluster.produce("orders", value)
        cluster.run_until(lambda sent=sent: sent.is_acknowledged, "it is acknowledged")  # type: ignore[misc]


def stop(cluster: SimulatedCluster, broker: int) -> None:
    cluster.stop(broker)
    cluster.run_until(lambda: not cluster.is_up(broker), "it is down")


def ensure_damage_is_healed(cluster: SimulatedCluster, loss: Loss, older: Path) -> None:
    """Nothing is cut before another replica leads that has it; what is cut is set aside."""
    directory = cluster.root(LAST) / "orders-0"
    loss(directory, older)
    (cluster.root(LAST) / CLEAN_SHUTDOWN_NAME).unlink()
    segment = max(directory.glob("*.log"))
    damaged = segment.read_bytes()
    cluster.start(LAST)
    cluster.run(5_000)
    assert cluster.leader("orders") == NO_LEADER
    assert segment.read_bytes() == damaged
    for broker in OTHERS:
        cluster.start(broker)
    cluster.run(5_000)
    if cluster.leader("orders") == NO_LEADER:
        assert segment.read_bytes() == damaged
        cluster.elect_uncleanly("orders")
    cluster.run_until(lambda: len(cluster.partition("orders").isr) == 3, "all are in sync again")
    for broker in (LAST, *OTHERS):
        assert [each.value for each in cluster.log(broker, "orders").records()] == VALUES
    (aside,) = directory.glob("*.set-aside")
    assert aside.read_bytes() in damaged


def ensure_nothing_is_lost(cluster: SimulatedCluster, loss: Loss, older: Path) -> None:
    loss(cluster.root(LAST) / "orders-0", older)
    cluster.start(LAST)
    cluster.run(5_000)
    assert cluster.leader("orders") == NO_LEADER
    for broker in OTHERS:
        cluster.start(broker)
    cluster.run(5_000)
    if cluster.leader("orders") == NO_LEADER:
        assert not cluster.is_running(LAST)
        cluster.elect_uncleanly("orders")
    assert cluster.leader("orders") in OTHERS
    cluster.run_until(lambda: len(cluster.partition("orders").isr) == 3, "all are in sync again")
    for broker in (LAST, *OTHERS):
        assert [each.value for each in cluster.log(broker, "orders").records()] == VALUES


@pytest.mark.parametrize("loss", ALL_LOSSES.values(), ids=ALL_LOSSES.keys())
def test_others_lead_what_the_last_in_the_isr_has_lost(tmp_path: Path, loss: Loss) -> None:
    """By themselves where they are eligible, else once they are elected uncleanly: that broker is fenced."""
    campaign = Campaign("brokers that have lost files", full=80, share=4)
    kinds = list(product([True, False], [1, 2]))
    for number in range(campaign.count):
        directory = tmp_path / str(number)
        directory.mkdir()
        with_eligible, min_isr = kinds[number % len(kinds)]
        seed = campaign.seed + number
        with stopped(directory, seed=seed, with_eligible=with_eligible, min_isr=min_isr) as cluster:
            ensure_nothing_is_lost(cluster, loss, directory / "older")
    campaign.report(campaign.count, loss.__name__)


@pytest.mark.parametrize(("with_eligible", "min_isr"), [*product([True, False], [1, 2])])
def test_others_lead_what_a_root_had_of_which_no_file_speaks(
    tmp_path: Path, min_isr: int, *, with_eligible: bool
) -> None:
    """The metadata does: the broker was the last in the ISR with a replica in this root."""
    with stopped(tmp_path, seed=1, with_eligible=with_eligible, min_isr=min_isr) as cluster:
        ensure_nothing_is_lost(cluster, lambda directory, _: lose_all_but_the_marker(directory.parent), tmp_path)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_what_is_damaged_is_cut_once_a_leader_has_it(tmp_path: Path, damage: Loss) -> None:
    campaign = Campaign("brokers with damaged files", full=80, share=4)
    kinds = list(product([True, False], [1, 2]))
    for number in range(campaign.count):
        directory = tmp_path / str(number)
        directory.mkdir()
        with_eligible, min_isr = kinds[number % len(kinds)]
        seed = campaign.seed + number
        with stopped(directory, seed=seed, with_eligible=with_eligible, min_isr=min_isr) as cluster:
            ensure_damage_is_healed(cluster, damage, directory / "older")
    campaign.report(campaign.count, damage.__name__)


@pytest.mark.parametrize("loss", ALL_LOSSES.values(), ids=ALL_LOSSES.keys())
@pytest.mark.parametrize("with_eligible", [True, False])
def test_what_has_lost_something_is_not_elected_where_unclean_elections_are_allowed(
    tmp_path: Path, loss: Loss, *, with_eligible: bool
) -> None:
    """Nobody counts on the first that stops; it would lead uncleanly as soon as it is there, with less than it had."""
    order = (LAST, *OTHERS)
    with stopped(
        tmp_path, seed=7, with_eligible=with_eligible, min_isr=1, unclean_allowed=True, order=order
    ) as cluster:
        ensure_nothing_is_lost(cluster, loss, tmp_path / "older")


def test_who_has_lost_nothing_is_elected_uncleanly_where_that_is_allowed(tmp_path: Path) -> None:
    order = (LAST, *OTHERS)
    with stopped(tmp_path, seed=7, with_eligible=False, min_isr=1, unclean_allowed=True, order=order) as cluster:
        cluster.start(LAST)
        cluster.run_until(lambda: cluster.leader("orders") == LAST, "it leads")


def test_who_has_lost_nothing_leads_at_once(tmp_path: Path) -> None:
    with stopped(tmp_path, seed=1, with_eligible=False, min_isr=1) as cluster:
        cluster.start(LAST)
        cluster.run_until(lambda: cluster.leader("orders") == LAST, "it leads")
