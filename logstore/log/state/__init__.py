"""What a log holds, its lock, and the way back from a call that failed."""
