"""A world of a stub in another process: the methods of ``PetStoreMock``, sent over HTTP."""
