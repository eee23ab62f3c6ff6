"""What commands that read copies ask a running cluster for (`--ask`)."""
