"""What happened: the record of each request, how it is searched, waited for, told, drawn and written as HAR.

The pipeline adds an entry for each request, and the adapters complete it. Entries, assertions and reports come out,
with keys masked.
"""
