"""The records of log files as columns, whatever the codec and the magic, and as Arrow has them."""
