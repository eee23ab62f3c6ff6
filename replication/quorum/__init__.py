"""The controllers' quorum as seen by who is no member of it: its metadata, and who leads it."""
