"""`epochlog version`."""

from replication.cli.output.printing import JsonOption, print_json


def version(*, json: JsonOption = False) -> None:
    """Print the version.

    Examples:
      epochlog version
      epochlog version --json
    """
    print_version(json=json)


def print_version(*, json: bool = False) -> None:
    """Print what was installed."""
    from replication import __version__ as number

    if json:
        print_json({"version": number})
    else:
        print(f"epochlog {number}")
