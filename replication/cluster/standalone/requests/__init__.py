"""Requests of administrators, answered by a controller of the same process."""
