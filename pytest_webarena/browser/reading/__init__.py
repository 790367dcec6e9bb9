"""What checks read of a session: its tabs as they are, and addresses in pages of the harness's own.

`check_reader` is what a session offers; `page_reading` reads one page, in a context of `own_pages` or a tab of the
agent's. `isolated` and `matches` run its scripts apart from the page's. `page_parts`, `missing_parts` and
`out_of_view`: what it has not got, or does not show yet.
"""
