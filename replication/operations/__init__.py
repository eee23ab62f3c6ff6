"""What operators ask of a cluster that runs: how it stands, and who leads."""
