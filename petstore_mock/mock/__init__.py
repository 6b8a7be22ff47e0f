"""What people hold: ``PetStoreMock`` joins a world with a listener.

Options and calls of the test author come in and are checked at once; animals, handles and the journal go out. What a
test must answer for is verified here.
"""
