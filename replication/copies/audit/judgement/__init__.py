"""What the copies of a partition mean together: who should lead, what would be lost, what is wrong."""
