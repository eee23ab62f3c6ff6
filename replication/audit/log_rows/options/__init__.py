"""The options of the data source `kafka-log`."""
