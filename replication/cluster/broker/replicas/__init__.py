"""The replicas that a broker has: which it leads, which it follows, and which are gone."""
