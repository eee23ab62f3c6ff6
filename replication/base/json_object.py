"""A JSON object that is only read."""

from collections.abc import Mapping
from typing import Any, TypeAlias

Json: TypeAlias = Mapping[str, Any]
"""By the names of its members, as the schema of what has it says."""
