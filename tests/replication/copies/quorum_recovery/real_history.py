"""What happens to three real controllers until all of them are dead."""

import random
from pathlib import Path
from time import sleep

from replication.records.metadata.image import ClusterImage
from tests.replication.copies.quorum_recovery.controllers import COUNTED, Controllers
from tests.replication.copies.quorum_recovery.real_quorum import VOTERS, RealQuorum

LOOKS = 10
BYTES_EACH = 40
"""An access control entry takes more than that in the log."""
MORE_THAN_FOLLOWS = 200


class RealHistory:
    """Changes that are acknowledged, between controllers that are killed, cut off and started again."""

    def __init__(self, quorum: RealQuorum, chance: random.Random) -> None:
        self.quorum = quorum
        self.chance = chance
        self.controllers = Controllers(quorum.at_work)

    def happen(self, *, ends_with_a_longer_fork: bool) -> None:
        """Do something a few times, and kill all controllers in any order while changes are on their way.

        With `ends_with_a_longer_fork` the last leader but one is dead by then, and its log the longest.
        """
        self.controllers.allow(3)
        doings = [self.write, self.lose_leader, self.lose_another, self.cut_leader_off]
        for doing in self.chance.choices(doings, k=self.chance.randrange(1, 4)):
            doing()
        while ends_with_a_longer_fork and not self.cut_leader_off(MORE_THAN_FOLLOWS):
            self.write()
        self.controllers.allow_unheard(self.controllers.leader(), self.chance.randrange(1, 30))
        for node in self.chance.sample(VOTERS, len(VOTERS)):
            if self.quorum.is_running(node):
                self.quorum.kill(node)

    def write(self) -> None:
        """Have changes acknowledged."""
        for _ in range(self.chance.randrange(1, 6)):
            if self.chance.random() < 0.5:
                self.controllers.allow(self.chance.randrange(1, 9))
            else:
                self.controllers.count()

    def lose_leader(self) -> None:
        """Kill the leader, and have the others go on."""
        self.quorum.start_all(VOTERS)
        self.quorum.kill(self.controllers.leader())
        self.write()

    def lose_another(self) -> None:
        """Kill a follower, and have the others go on."""
        self.quorum.start_all(VOTERS)
        leader = self.controllers.leader()
        self.quorum.kill(self.chance.choice([node for node in VOTERS if node != leader]))
        self.write()

    def cut_leader_off(self, count: int = 40) -> bool:
        """Have the leader append what nobody fetches, kill it, and have the others go on.

        Return whether it did: it may have ceased to lead before.
        """
        self.quorum.start_all(VOTERS)
        leader = self.controllers.leader()
        enough = _log_bytes(self.quorum.metadata(leader)) + BYTES_EACH * count
        followers = self.quorum.cut_off(leader)
        self.controllers.allow_unheard(leader, count)
        for _ in range(LOOKS):
            if _log_bytes(self.quorum.metadata(leader)) > enough:
                break
            sleep(0.1)
        self.quorum.kill(leader)
        for node in followers:
            self.quorum.resume(node)
        self.write()
        return _log_bytes(self.quorum.metadata(leader)) > enough

    def is_all_in(self, image: ClusterImage | None) -> bool:
        """Whether an image has everything that was acknowledged."""
        if image is None:
            return False
        return self.controllers.acknowledged <= allowed_in(image) and counted_in(image) >= self.controllers.counted


def allowed_in(image: ClusterImage) -> set[str]:
    """Return for which resources an image has access control entries."""
    return {entry.resource_name for entry in image.access_control_entries.values()}


def counted_in(image: ClusterImage) -> float:
    """Return the quota that only ever rises."""
    limits = [
        limit
        for entity, named in image.client_quotas.items()
        for limit in named.values()
        if any(part.entity_name == COUNTED for part in entity)
    ]
    return max(limits, default=0)


def _log_bytes(partition: Path) -> int:
    return sum(path.stat().st_size for path in partition.glob("*.log"))
