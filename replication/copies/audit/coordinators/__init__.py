"""What coordinators have written into their topics: where consumer groups stand, and which transactions hang."""
