"""A byte-identical copy of a real cluster's partitions, which follows their leaders."""
