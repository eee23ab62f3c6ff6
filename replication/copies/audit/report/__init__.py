"""Audits as self-contained HTML pages: one run, and trends over many."""

from replication.copies.audit.report.page import render
from replication.copies.audit.report.trends import render_trends

__all__ = ["render", "render_trends"]
