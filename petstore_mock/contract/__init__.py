"""The interface as data, and what may be said of it: operations, schemas, violations, gaps, the OpenAPI document.

JSON values, texts of parameters and the choices of a behaviour come in; violations and the chosen functions of the gaps
go out. It knows neither a request nor a world.
"""
