"""A controller that leads and answers nothing any more holds nobody up once another one leads."""

from contextlib import closing

from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.cluster.broker.lifecycle.broker_agent import BrokerAgent
from replication.wire.messages.broker_heartbeat import API_KEY
from tests.replication.cluster.broker.lifecycle.scripted_controller import ScriptedController
from tests.replication.cluster.broker.member import Ear, settings
from tests.replication.cluster.quorum.quorum_leader import METADATA_ID, QuorumLeader
from tests.replication.waiting import SECONDS, wait_until

HOUR_MS = 3_600_000


def test_the_next_leader_has_a_heartbeat_while_the_one_before_still_hangs() -> None:
    """However long a request may take: the session is an hour."""
    identity = BrokerIdentity(cluster_id="cluster", broker_id=9, directory_ids=(METADATA_ID,))
    leader, ear = QuorumLeader(), Ear()
    leader.commit()
    before = leader.as_of_now()
    leader.elect()
    leader.commit()
    old, new = ScriptedController(leader=before), ScriptedController(leader=leader)
    with old.listen() as first, new.listen() as second:
        before.listens_at, leader.listens_at = first.address, second.address
        member = BrokerAgent(
            [first.address, second.address], identity, settings(session_timeout_ms=HOUR_MS), observer=ear
        )
        with closing(member):
            member.start()
            member.wait_until_caught_up(SECONDS)
            member.ready_to_unfence()
            member.wait_until_running(SECONDS)
            assert ear.controllers == [str(first.address)]
            old.silent = True
            wait_until(lambda: any(each.api_key == API_KEY for each in new.asked), "the next has a heartbeat")
            assert not old.kept_waiting
        old.ended.set()
