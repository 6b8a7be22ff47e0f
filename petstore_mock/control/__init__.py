"""The control door: steers the fake over HTTP, from any language."""
