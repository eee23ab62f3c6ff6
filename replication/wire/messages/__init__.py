"""Kafka's requests and answers in our own terms, one file for each API."""
