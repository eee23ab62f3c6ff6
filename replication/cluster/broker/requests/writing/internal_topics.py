"""The topics that belong to coordinators: clients neither write to them nor delete from them."""

from typing import Final

INTERNAL_TOPICS: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""Kafka: Topic.isInternal."""
