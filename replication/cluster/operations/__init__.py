"""What operators ask of a running cluster: its state, and leader elections."""
