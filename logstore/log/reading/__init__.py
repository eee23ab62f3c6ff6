"""Reading a log record by record: to its end, or as it grows."""
