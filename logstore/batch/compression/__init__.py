"""The codecs of batches, framed as Kafka frames them, with bounds to what they decompress to."""
