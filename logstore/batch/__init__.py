"""Batches of records: their bytes, their headers, and the records within."""
