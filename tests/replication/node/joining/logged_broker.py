"""`epochlog broker` that says on standard error what it cuts off.

python -m tests.replication.node.joining.logged_broker CONFIG
"""

import logging
import sys

from replication.cli.main import main

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)")
    main(["broker", "--config", sys.argv[1], "--json"])
