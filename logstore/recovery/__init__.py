"""Opening a log: what was left over, what is recovered after a crash, and what was dropped."""
