"""The rows of the verifier, by subject: each has a clause, its probes, its check and its mutants."""
