"""Archived sites: WARC and WACZ files are read, matched to requests, served, and written from recorded traffic.

The formats are ISO 28500 (WARC) and WACZ 1.1.1. ``warcio``, imported on first use, reads and writes their records.
Nothing here depends on leases or browsers::

    files ──── WARC files, alone or in packages
    reading ── the records of files, and the bytes of one
    bodies ─── encodings of a body, and whether it is complete
    matching ─ which requests a capture answers: exact and documented inexact matches
    archive ── an index over files: from a request to a capture
    answering ─ the HTTP response to one request
    serving ── an HTTP server over it, on its own thread
    writing ── exchanges recorded by the gateway, as a WARC file
"""
