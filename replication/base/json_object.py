"""JSON objects that are only read, and the version of those that commands print."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

Json: TypeAlias = Mapping[str, Any]
"""By the names of its members, as the schema of what has it says."""

SCHEMA_VERSION: Final = 1
"""Of all that is printed with --json. It rises where a member goes, or its name, type or meaning changes."""
