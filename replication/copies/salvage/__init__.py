"""What losing copies hold and the kept one lacks: records that an unclean election cut off, brought back."""
