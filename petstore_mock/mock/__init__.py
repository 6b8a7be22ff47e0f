"""``PetStoreMock``, and the methods that it shares with ``RemotePetStore``."""
