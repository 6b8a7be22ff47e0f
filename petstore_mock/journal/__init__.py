"""The request journal, and its output as text, curl, JSON, HAR and HTML."""
