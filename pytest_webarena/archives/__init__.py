"""Archived sites: WARC and WACZ files, read, matched to requests, served, and written from recorded traffic.

The formats are those of the web-archiving world (ISO 28500; WACZ 1.1.1); ``warcio`` reads and writes their records, and
is imported on first use. Nothing here knows of leases or browsers::

    files ──── WARC files, alone or in packages
    reading ── the records of files, and the bytes of one
    bodies ─── what is wrapped around a body, and whether it is whole
    matching ─ which requests one capture answers: exact, and the documented liberties
    archive ── an index over files: a request to a capture
    serving ── an HTTP server over it, on a thread of its own
    writing ── exchanges that the gateway has seen, as a WARC file
"""
