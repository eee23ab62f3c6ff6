"""What commands that judge copies share."""
