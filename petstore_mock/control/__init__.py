"""The control door: tests in any language steer the fake over HTTP."""
