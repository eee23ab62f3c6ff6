"""`python -m replication.cli`: the same as `epochlog`."""

from replication.cli.main import main

main()
