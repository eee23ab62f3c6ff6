"""A controller that is alone, as brokers and administrators reach it over a network."""
