"""Which copy of the controllers' metadata to restore a quorum from, and what each choice would forget."""
