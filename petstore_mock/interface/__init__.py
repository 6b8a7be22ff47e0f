"""The interface of the pet store as data: operations, schemas, error conditions, gaps and mutants."""
