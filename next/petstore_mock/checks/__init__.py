"""Rules for clients of the pet store service, each as one function over requests and outcomes.

The machine, pasted tests and people's own tests use the same checks: ``checks.no_repeated_create(petstore.journal)``.
"""
