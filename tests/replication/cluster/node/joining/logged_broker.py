"""`epochlog broker` that says on standard error all that its log has, and can lose what it has not flushed.

python -m tests.replication.cluster.node.joining.logged_broker CONFIG [JOURNAL]
"""

import logging
import sys
from functools import partial
from pathlib import Path

from replication.cli.main import main
from replication.cluster.node.joining.joined_broker import JoinedBroker
from replication.testing.forgetful_disk import ForgetfulDisk

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)")
    if len(sys.argv) > 2:
        disk = ForgetfulDisk(Path(sys.argv[2]))
        JoinedBroker.open = partial(JoinedBroker.open, filesystem=disk)  # type: ignore[method-assign]
    main(["broker", "--config", sys.argv[1], "--json"])
