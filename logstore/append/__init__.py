"""What becomes of batches before they are written: validated, given offsets, or found to need neither."""
