"""What `epochlog dump` prints of each kind of file."""
