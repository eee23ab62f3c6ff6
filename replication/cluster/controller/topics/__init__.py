"""Topics and where their replicas are."""
