"""Turns results into the measured part of docs/performance.md and its pictures: see `python -m bench.report --help`."""
