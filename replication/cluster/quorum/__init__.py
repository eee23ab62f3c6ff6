"""The controllers' quorum as a non-member sees it: its metadata, and its leader."""
