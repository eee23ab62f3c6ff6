"""A broker's place among its cluster's: registered, alive, and leaving in order."""
