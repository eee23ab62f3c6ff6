"""python -m tests.replication.copies.salvage.cluster.killed_production ADDRESS TOPIC KEPT RECORDS MICROSECONDS ROOT...

Produces, and dies by SIGKILL so many microseconds after so many records were handed over, if it has not ended by then.
"""

import os
import signal
import sys
import time
from pathlib import Path
from threading import Thread

from replication.copies.salvage.cluster.cuts import Cuts
from replication.salvage import TransactionSize, plan_salvage, produce

SIZE = TransactionSize(records=3)


def die(microseconds: int) -> None:
    time.sleep(microseconds / 1e6)
    os.kill(os.getpid(), signal.SIGKILL)


def main(address: str, topic: str, kept: str, records: int, microseconds: int, roots: list[Path]) -> None:
    taken = 0
    follow = Cuts.follow

    def counted(cuts: Cuts, source: tuple[int, int], size: int) -> bool:
        nonlocal taken
        if taken == records:
            Thread(target=die, args=(microseconds,), daemon=True).start()
        taken += 1
        return follow(cuts, source, size)

    Cuts.follow = counted  # type: ignore[method-assign]  # to die at a moment of its work
    plan = plan_salvage(roots, kept, topics=["t"])
    produce(plan, {"bootstrap.servers": address}, to_topic=topic, size=SIZE)


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:6]), list(map(Path, sys.argv[6:])))
