"""AlterClientQuotas: an answer that is the same for all that it names (KIP-546)."""

from collections.abc import Mapping
from typing import Any, Final

API_KEY: Final = 49


def each_entity(request: Any, said: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the content of the answer that says so of each entity."""
    entities = (
        [{"entity_type": part.entity_type, "entity_name": part.entity_name} for part in entry.entity]
        for entry in request.entries
    )
    return {"entries": [{"entity": entity, **said} for entity in entities]}
