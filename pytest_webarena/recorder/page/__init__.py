"""The page on which a task is made: the browser to be used, where there is no window, and a panel beside it.

`panel` is what there is to be seen and what the author wants, `server` shows it on loopback, `flow` does the work.
"""
