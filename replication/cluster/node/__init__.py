"""One broker, wherever its controller is."""
