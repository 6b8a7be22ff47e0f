"""The other contestants: canned answers, and fakes as teams write them. Those from npm stand in ``package.json``."""
