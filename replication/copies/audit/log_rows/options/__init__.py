"""The options of `kafka-log`."""
