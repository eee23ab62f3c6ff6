"""Logs held against tables that were filled from them, range by range."""
