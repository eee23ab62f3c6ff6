"""What recovery may do where a log is damaged."""
