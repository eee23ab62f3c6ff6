"""Whether copies of partitions agree: what differs between brokers' snapshots, and what each difference would cost."""
