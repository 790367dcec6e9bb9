"""The web page on which a task is made: a view of the browser (unless that has a window), and a panel next to it.

`panel` holds what the page shows and what the author requests, `server` serves it on loopback, `flow` does the work.
"""
