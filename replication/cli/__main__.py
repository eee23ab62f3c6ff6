"""`epochlog`, also as `python -m replication.cli`."""

import atexit
import gc
import json
import os
import sys

RARELY = 100_000
"""How many objects more there must be before Python looks for garbage among them."""


def run() -> None:
    """Run the command line, or report what is missing: the library core is installed without it."""
    # A command needs to its end what it loads: looking for garbage there takes a tenth of a second, most of it at exit.
    gc.set_threshold(RARELY)
    atexit.register(gc.freeze)
    # No command uses NumPy's linear algebra, which would start a thread for each core.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from replication.cli.main import main
    except KeyboardInterrupt:  # once it runs, the command line sees to that itself
        sys.exit(130)
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich"}:
            raise
        message = f"the command line needs {error.name}: install the extra `cli`, in a checkout: pip install '.[cli]'"
        if "--json" in sys.argv:
            # What prints every other error needs the very package that is missing.
            place = dict.fromkeys(("file", "line", "position", "offset"))
            described = {"class": "MissingPackageError", "message": message, **place}
            print(json.dumps({"schema_version": 1, "exit_status": 2, "error": described}))
        print(f"epochlog: {message}", file=sys.stderr)
        sys.exit(2)
    main()


if __name__ == "__main__":
    run()
