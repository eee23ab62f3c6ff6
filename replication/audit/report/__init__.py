"""The audit as one self-contained HTML page."""

from replication.audit.report.page import render

__all__ = ["render"]
