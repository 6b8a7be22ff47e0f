"""What is asked of a client after each call, one module a subject.

A call with its requests, its result or its error comes in; a sentence about a bug goes out, or nothing.
"""
