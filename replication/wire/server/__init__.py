"""The other end of a connection: requests as they arrive, and their answers."""
