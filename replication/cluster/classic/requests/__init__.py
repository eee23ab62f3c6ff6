"""Answers what brokers and administrators ask it, and passes on to brokers what is asked of them."""
