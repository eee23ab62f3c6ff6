"""The data source `kafka-log`: options, what is asked for, and logs as rows of Arrow."""
