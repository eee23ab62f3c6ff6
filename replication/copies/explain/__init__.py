"""Why an offset is not there: delivered, a marker, aborted, compacted, truncated, expired, or missing."""
