"""The ways in: adapters between bytes, environs and the core."""
