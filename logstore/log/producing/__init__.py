"""Writing to a log as an idempotent producer."""
