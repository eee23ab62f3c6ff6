"""`epochlog`, also as `python -m epochlog`: the command line, once all packages are known to be its own."""

import sys

from epochlog import __distribution__
from epochlog.belonging import ensure_together


def run() -> None:
    """Run the command line, or say which package of another distribution is in its way."""
    try:
        ensure_together("epochlog", __distribution__)
    except ImportError as error:
        _refuse(error)
    from replication.cli.__main__ import run as run_commands

    run_commands()


def _refuse(error: ImportError) -> None:
    """Report the error as commands do, without importing packages that may belong to others."""
    if "--json" in sys.argv:
        import json

        place = {"file": error.path, **dict.fromkeys(("line", "position", "offset"))}
        described = {"class": "ImportError", "message": error.msg, **place}
        print(json.dumps({"schema_version": 1, "exit_status": 2, "error": described}))
    print(f"epochlog: {error.msg}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    run()
