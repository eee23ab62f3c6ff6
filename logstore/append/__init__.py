"""Prepares batches before they are written: validates them and assigns their offsets."""
