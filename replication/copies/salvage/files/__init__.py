"""Files of salvaged records: each form in its module, and what they have in common in `target`."""
