"""What people hold: ``PetStoreMock``, and the face that it shares with a world elsewhere."""
