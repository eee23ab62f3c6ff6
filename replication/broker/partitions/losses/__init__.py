"""What a replica has lost, and what may become of it."""
