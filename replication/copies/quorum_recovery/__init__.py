"""Which controller's copy of the metadata to restore a quorum from, and what each choice would forget."""
