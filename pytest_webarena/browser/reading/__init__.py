"""Reads pages of a session for checks: its tabs as they are, and addresses in pages of the harness's own.

`check_reader` is the interface for sessions; `page_reading` reads one page, in a context of `own_pages` or in a tab of
the agent's. `isolated` and `matches` run their scripts isolated from the page's. `page_resources`, `missing_resources`
and `lazy_content` determine what a page has not received, or does not show yet.
"""
