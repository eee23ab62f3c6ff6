"""`epochlog version`."""


def version() -> None:
    """Print the version."""
    from importlib.metadata import version as version_of

    print(f"epochlog {version_of('epochlog')}")
