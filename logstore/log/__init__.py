"""One log in use: what moves its ends, what grows it, what reads it."""
