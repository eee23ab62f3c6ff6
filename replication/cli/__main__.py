"""`epochlog`, also as `python -m replication.cli`."""

import sys


def run() -> None:
    """Run the command line, or say what it lacks: the library core is installed without it."""
    try:
        from replication.cli.main import main
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich"}:
            raise
        print(f"epochlog: the command line needs {error.name}: pip install 'epochlog[cli]'", file=sys.stderr)
        sys.exit(2)
    main()


if __name__ == "__main__":
    run()
