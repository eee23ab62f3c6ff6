"""Audits on one machine, without Spark: the same steps in processes of this library's own."""
