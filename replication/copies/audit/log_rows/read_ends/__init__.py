"""Logs beside where reads of them ended: whether they still have what was read."""
