"""Files of properties, under the names of Kafka's."""
