"""Appends that are waited for until they are on stable storage."""
