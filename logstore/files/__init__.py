"""The small files beside the segments, one file format each, and how files are locked and mapped."""
