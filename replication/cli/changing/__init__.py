"""What commands that write to copies share."""
