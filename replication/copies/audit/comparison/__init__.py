"""Two copies of a partition beside each other: which records, batches and epochs differ."""
