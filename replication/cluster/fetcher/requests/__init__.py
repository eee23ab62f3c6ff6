"""Which partitions the next request asks for, and what its answer says."""
