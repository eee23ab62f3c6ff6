"""A controller loses power again and again while it is followed: nobody is told of what may be lost."""

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from logstore.log.log import Log
from replication.cluster.controller.settings.setting_changes import Operation, SettingChange
from replication.cluster.quorum.followed_metadata import FollowedMetadata
from replication.cluster.quorum.local_metadata import LocalMetadata
from replication.cluster.standalone.errors import ControllerFailedError
from replication.cluster.standalone.new_cluster import begin_cluster
from replication.cluster.standalone.quorum.controller_server import quorum_messages
from replication.cluster.standalone.quorum.led_quorum import LedQuorum
from replication.cluster.standalone.quorum.metadata_fetches import MetadataFetches
from replication.cluster.standalone.static_controller import StaticController
from replication.cluster.standalone.stored_metadata import StoredMetadata
from replication.records.metadata.configurations import ConfigResource, ConfigResourceType
from replication.testing.forgetful_disk import ForgetfulDisk
from replication.wire.addresses import Address
from replication.wire.server.call import Call, Caller
from tests.campaign import Campaign

CAMPAIGN = Campaign("controller: power cuts", full=1_000, share=6)
STEPS: Final = 30
BROKERS: Final = ConfigResource(ConfigResourceType.BROKER, "")
CALL: Final = Call(18, Caller("192.0.2.1"))
DIRECTORY: Final = UUID(int=5_000)


class PowerCutError(OSError):
    """Nothing is flushed any more."""


class Disk(ForgetfulDisk):
    """Lets a follower look before each flush, and may lose power then."""

    def __init__(self, life: "Life") -> None:
        super().__init__()
        self._life = life

    def fsync(self, descriptor: int) -> None:
        self._life.before_flush()
        super().fsync(descriptor)


class Life:
    """One controller after the other on one directory, and one follower."""

    def __init__(self, chance: random.Random, directory: Path) -> None:
        self.chance = chance
        self.cuts = 0
        self._root = directory / "controller"
        self._disk = Disk(self)
        self._copy = directory / "copy"
        self._fetches: MetadataFetches | None = None
        self._may_cut = False
        self.followed = FollowedMetadata.open(7, "cluster", self._copy)
        self._begin()

    def step(self) -> None:
        self.chance.choice([self.write, self.write, self.write, self.follow, self.cut, self.reopen])()

    def write(self) -> None:
        """Decide; the power may fail on the way."""
        value = str(self.chance.randrange(1, 1_000))
        change = SettingChange("log.retention.ms", Operation.SET, value)
        self._risk(lambda: self.controller.decide(lambda deciding: deciding.change_settings([(BROKERS, [change])])))

    def _risk(self, write: Callable[[], object]) -> None:
        """Write while the power may fail, after which another start is due."""
        self._may_cut = True
        with suppress(ControllerFailedError):
            write()
        self._may_cut = False
        if self.controller.failure is not None:
            assert isinstance(self.controller.failure, PowerCutError)
            self.cut()

    def before_flush(self) -> None:
        """What was written is in the log, and may be lost yet."""
        if self.chance.random() < 0.5:
            self.follow()
        if self._may_cut and self.chance.random() < 0.2:
            raise PowerCutError

    def follow(self) -> None:
        """Ask once, unless nobody is there."""
        if self._fetches is None:
            return
        request: Any = self.followed.request()
        answer: Any = self._fetches.answer(request, CALL)
        self.followed.take(answer.expire() if hasattr(answer, "expire") else answer)

    def cut(self) -> None:
        """Lose power, and begin anew."""
        self.cuts += 1
        self._fetches = None
        with suppress(OSError):
            self._log.abandon()
        self._disk.lose()
        self._begin()

    def reopen(self) -> None:
        """Let the follower begin anew on its copy."""
        self.followed.close()
        self.followed = FollowedMetadata.open(7, "cluster", self._copy)

    def finish(self) -> None:
        for _ in range(20):
            self.follow()
        assert self.followed.applied_offset == self.controller.published.applied_offset
        assert self.followed.image == self.controller.published.image
        self.followed.close()
        self._log.close()
        with (
            Log.open(self._root / self._log.directory.name, replicated=True) as own,
            Log.open(self._copy / own.directory.name, replicated=True) as copy,
        ):
            assert bytes(copy.read(0, 1 << 22).data) == bytes(own.read(0, 1 << 22).data)

    def _begin(self) -> None:
        local = LocalMetadata.open(self._root, self._disk)
        self._log = local.log
        self.controller = StaticController("cluster", StoredMetadata(local))
        begin_cluster(self.controller)
        quorum = LedQuorum(self.controller, 100, Address("127.0.0.1", 9_093), DIRECTORY)
        self._fetches = MetadataFetches(quorum)
        self._risk(lambda: self.controller.announce(*quorum_messages(quorum, "CONTROLLER")))


def test_a_copy_is_always_part_of_what_the_controller_still_has(tmp_path: Path) -> None:
    cuts = 0
    for number in range(CAMPAIGN.count):
        life = Life(random.Random(f"{CAMPAIGN.seed} {number}"), tmp_path / str(number))
        for _ in range(STEPS):
            life.step()
        life.finish()
        cuts += life.cuts
    CAMPAIGN.report(CAMPAIGN.count, f"{cuts:,} power cuts")
