"""A broker's lifecycle in its cluster: registration, heartbeats, controlled shutdown."""
