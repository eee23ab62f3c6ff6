"""Compaction: which records of a log are kept, and the segments that are written of them (Kafka: Cleaner)."""
