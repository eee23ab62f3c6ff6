"""Work queues of Python programs side by side: how fast each is, and what it loses where processes are killed."""
