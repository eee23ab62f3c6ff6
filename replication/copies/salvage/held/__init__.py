"""What is held already, and so need not be salvaged, or not from here."""
