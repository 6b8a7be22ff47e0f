"""A world of a stub in another process: the same face, whose verbs go over HTTP."""
