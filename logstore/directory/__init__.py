"""A broker's log directory: many logs, their checkpoint files, and what is done to them periodically."""
