"""The machine of one broker of a simulated cluster: its disk, and the broker as long as that runs."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final
from uuid import UUID

from epoch.filesystem import REAL
from logstore.directory.directory_settings import DirectorySettings
from logstore.directory.log_directories import LogDirectories
from logstore.directory.log_directory import LogDirectory
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.meta_properties import MetaProperties
from logstore.files.partition_metadata import format_uuid
from replication.testing.forgetful_disk import ForgetfulDisk
from replication.testing.simulated.network import Network
from replication.testing.simulated.simulated_broker import BrokerTimes, SimulatedBroker

_SETTINGS: Final = DirectorySettings(num_recovery_threads_per_data_dir=1, max_open_files=100)


class Machine:
    """Started, stopped, killed, and started again on the same directory."""

    def __init__(
        self,
        broker_id: int,
        root: Path,
        cluster_id: str,
        network: Network,
        random: Random,
        times: BrokerTimes,
        wall_clock: Callable[[], int],
    ) -> None:
        """Format a directory for the broker; nothing runs yet. `wall_clock` gives milliseconds since 1970."""
        self.broker_id: Final = broker_id
        self.root: Final = root
        self.broker: SimulatedBroker | None = None
        """None while it is down."""
        self._network: Final = network
        self._random: Final = random
        self._times: Final = times
        self._wall_clock: Final = wall_clock
        self._disk: Final = ForgetfulDisk()
        self._directory_id: Final = UUID(int=random.getrandbits(128))
        REAL.make_directories(root)
        properties = MetaProperties(1, cluster_id, broker_id, format_uuid(self._directory_id))
        properties.write(root / META_PROPERTIES_NAME)

    def start(self) -> None:
        """Open the directory, and let the broker register. Raises ValueError where it is up."""
        if self.broker is not None:
            raise ValueError(f"broker {self.broker_id} is up")
        root = LogDirectory.open(
            self.root, replicated=True, damage="hold", settings=_SETTINGS, filesystem=self._disk, clock=self._wall_clock
        )
        directories = LogDirectories([root], {})
        self.broker = SimulatedBroker(
            directories, self._directory_id, self._network, self._random, self._times, ended=self._close
        )
        self._network.servers[self.broker_id] = self.broker

    def stop(self) -> None:
        """Shut down the broker in a controlled way: it hands over what it leads first, and is down some time later."""
        self._up().leave()

    def kill(self, *, lose_unflushed: bool) -> int:
        """End the broker at once; return how many bytes are lost with that."""
        broker = self._up()
        self._down(broker)
        broker.abandon()
        return self._disk.lose() if lose_unflushed else 0

    def _close(self) -> None:
        broker = self._up()
        self._down(broker)
        broker.close()

    def _down(self, broker: SimulatedBroker) -> None:
        self._network.trace.note(f"{self.broker_id} ends")
        self.broker = None
        broker.process.end()
        self._network.lose_server(self.broker_id)

    def _up(self) -> SimulatedBroker:
        if self.broker is None:
            raise ValueError(f"broker {self.broker_id} is down: start it first")
        return self.broker
