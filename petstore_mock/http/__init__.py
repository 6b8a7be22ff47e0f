"""HTTP messages as values: requests, responses, credentials and framing, without I/O."""
