"""What unclean elections made of transactions, in copies."""
