"""Which brokers there are, which of them live, and what changes with them."""
