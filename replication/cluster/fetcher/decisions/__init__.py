"""What a follower does next, without a log, a connection or a thread."""
