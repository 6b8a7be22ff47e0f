"""Tools that any room may need. From the rest of the package, they import only ``petstore_mock.errors``."""
