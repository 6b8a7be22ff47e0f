"""The other contestants: canned responses, and fakes as teams write them. ``package.json`` lists those from npm."""
