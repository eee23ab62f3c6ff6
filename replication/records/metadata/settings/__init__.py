"""Which settings topics and brokers have, and which values these may take."""
