"""What every package may use: limits of the system, forked processes, names that have changed."""
