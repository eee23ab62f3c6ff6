"""What a broker asks of its controller, beside registrations, heartbeats and metadata."""
