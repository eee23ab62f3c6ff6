"""Spark sessions: how one is started, gets these packages, shows its progress, and what its failures mean."""
