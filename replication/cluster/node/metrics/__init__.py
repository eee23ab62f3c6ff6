"""A broker's metrics for Prometheus, under the names that Kafka's have by way of the JMX exporter."""
