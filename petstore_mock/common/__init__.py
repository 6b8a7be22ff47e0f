"""Tools that any room may need. Nothing here knows the interface or HTTP."""
