"""Where a broker listens, and who may log in there."""
