"""The fake from another process: ``petstore_mock.connect()``.

What ``PetStoreMock`` says of a world comes in as calls, goes out as requests to the control door of a stub that runs
elsewhere, and comes back as the same objects: entries, behaviours, errors. The standard library carries it.
"""
