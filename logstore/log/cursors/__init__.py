"""Places in a log that have a name and outlive the program."""
