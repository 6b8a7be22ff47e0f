"""The core: worlds, and what they respond to requests. It does no I/O."""
