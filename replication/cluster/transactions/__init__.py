"""Transactions that nobody will end, on a running cluster."""
