"""What a broker answers, API by API."""
