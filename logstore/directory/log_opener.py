"""Opens the logs of one root."""

from collections.abc import Callable

from logstore.directory.checkpoint_files import CheckpointFiles
from logstore.directory.state.directory_environment import DirectoryEnvironment
from logstore.files.root_checkpoints import PartitionCheckpoints
from logstore.log.log import Log
from logstore.recovery.damage_policy import Damage
from logstore.recovery.segment_walk import OnBytes
from logstore.segment.open_files import OpenFiles
from logstore.topic_partition import TopicPartition


class LogOpener:
    """Gives each log its configuration, and what all of a root share."""

    def __init__(
        self, environment: DirectoryEnvironment, checkpoints: CheckpointFiles, out_of_space: Callable[[OSError], object]
    ) -> None:
        """Open nothing yet; `out_of_space` is called with what a log meets on a full disk."""
        self._environment = environment
        self._checkpoints = checkpoints
        self._out_of_space = out_of_space
        self._open_files = OpenFiles(environment.settings.max_open_files)

    def open(
        self,
        partition: TopicPartition,
        known: PartitionCheckpoints,
        progress: OnBytes = lambda _: None,
        *,
        name: str | None = None,
        damage: Damage | None = None,
        replicated: bool | None = None,
        check_all: bool = False,
    ) -> Log:
        """Open a partition's log, of which so much is known; `name` is that of its directory where it has a mark.

        `damage` is what becomes of damage, and `replicated` whether other nodes have copies, by default as the root was
        opened; but that a damaged log is held back is asked for, and so is that all of it is checked.

        Raises what `Log.open` raises.
        """
        environment = self._environment
        if damage is None:
            of_root = environment.damage_of(partition)
            damage = "raise" if of_root == "hold" else of_root
        return Log.open(
            environment.root / (name or str(partition)),
            environment.config_of(partition),
            checkpoints=known,
            in_directory=True,
            replicated=environment.replicated_of(partition) if replicated is None else replicated,
            damage=damage,
            check_all=check_all,
            filesystem=environment.filesystem,
            clock=environment.clock,
            observer=environment.observer,
            open_files=self._open_files,
            reserve=environment.reserve,
            out_of_space=self._out_of_space,
            root_claims=self._checkpoints,
            progress=progress,
        )
