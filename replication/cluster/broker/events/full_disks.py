"""Which of a broker's directories have no space: reported when that begins, and when it is over."""

from collections.abc import Iterable
from typing import Final

from logstore.directory.log_directory import LogDirectory
from replication.cluster.broker.events.event_log import log_event
from replication.cluster.broker.events.trouble import TellTrouble, Trouble
from replication.cluster.broker.events.trouble_events import TroubleKind


class FullDisks:
    """Whoever meets a full disk notes it in its directory; one thread looks there."""

    def __init__(self, roots: Iterable[LogDirectory], tell: TellTrouble = log_event) -> None:
        """Create it with nothing reported."""
        self._troubles: Final = {root: Trouble(TroubleKind.DISK, str(root.root), tell) for root in roots}

    def look(self) -> None:
        """Report what has changed."""
        for root, trouble in self._troubles.items():
            shortage = root.shortage
            if shortage is None:
                trouble.end()
            else:
                trouble.begin(f"{shortage.strerror}: {shortage.filename}")
