"""One segment of a log in use: its files, what is read of it, and the list of all."""
