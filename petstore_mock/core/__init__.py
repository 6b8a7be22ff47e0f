"""The core: worlds, and their responses to requests. It does no I/O."""
