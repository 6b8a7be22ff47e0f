"""The core: worlds, and their responses to requests. It does no network I/O."""
