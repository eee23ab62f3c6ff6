"""Public names that have changed keep working for one version, with a warning."""

import warnings


def warn_renamed(old: str, new: str) -> None:
    """Warn whoever called the function that calls this one: what they call `old` has another name now."""
    warnings.warn(
        f"{old} has been renamed: use {new}; the old name will be removed in the next version",
        DeprecationWarning,
        stacklevel=3,
    )
