"""A cluster in one thread: its time and its network are simulated, all that decides and stores is real."""
