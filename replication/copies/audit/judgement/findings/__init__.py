"""What is found of a partition's copies by holding them against each other and the metadata."""
