"""How commands print, and how they fail."""
