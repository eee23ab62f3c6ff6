"""Brokers of ours, each a process of its own, until standard input ends.

    python -m bench.brokers_of_ours DIRECTORY

Prints where clients reach them.
"""

import sys
from pathlib import Path

from replication.testing.cluster import Cluster

BROKERS = 3


def main() -> None:
    """Start three, and wait."""
    with Cluster(BROKERS, directory=Path(sys.argv[1]), replica_lag_time_max_ms=30_000, processes=True) as cluster:
        print(cluster.bootstrap, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
