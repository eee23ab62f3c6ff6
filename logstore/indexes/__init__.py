"""The indexes of a segment: their formats, and those of a log in use."""
