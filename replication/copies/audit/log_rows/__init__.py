"""What logs hold as rows of Arrow: batches, records, leader epochs and segments, as far as options ask for them."""
