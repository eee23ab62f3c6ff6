"""What logs lack of what was said of them."""
