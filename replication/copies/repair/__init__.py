"""A damaged copy of a partition, healed from other replicas into a new copy."""
