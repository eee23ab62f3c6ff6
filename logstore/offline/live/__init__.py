"""Reading a log that another process may be writing: no mapping, no lock, and nothing written."""
