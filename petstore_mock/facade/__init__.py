"""The object that people hold, whichever way its world is reached: what they may say of a world, said once.

Calls of the test author come in, each with its signature and its words; what they ask goes on to the world behind it,
in this process or of a stub elsewhere. ``mock`` and ``remote`` add how their world is reached.
"""
