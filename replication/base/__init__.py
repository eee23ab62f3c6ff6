"""What everything may use: errors, the clock, back-off, stop requests, words for counts."""
