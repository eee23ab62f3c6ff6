"""Bytes and typed values: the codec, the metadata's records and image, who would lead, coordinators' records."""
