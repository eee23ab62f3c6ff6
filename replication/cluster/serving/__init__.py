"""Copies of brokers' directories, served to Kafka's clients as a cluster that nobody can write to."""
