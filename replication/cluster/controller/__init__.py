"""The controller's decisions: who is alive, who leads, where replicas live. Values in, metadata records out."""
