"""What happens to a broker's partitions, as values; one module says it in the log, another counts it."""
