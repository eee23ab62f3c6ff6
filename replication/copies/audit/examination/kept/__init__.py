"""What a history keeps of copies and partitions, and spares the next audit by it."""
