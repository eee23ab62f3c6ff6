"""What lies in stores: places of pyarrow, transfers that are believed, and files."""
