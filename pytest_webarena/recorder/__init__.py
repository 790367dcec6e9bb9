"""Reads a solution out of what somebody did in a browser, whoever it was: the signals of the session tell it.

`steps` makes steps of signals, `selectors` says by what their elements can be found again, `proving` does the steps on
fresh sites and keeps of these what finds the same element, and `writing` writes the task; `making` joins them, for the
terminal and for the page in `page`. When the sites have changed, `replaying` does a solution again, `healing` finds
elements by what was kept, and `rewriting` says so in the task's file.
"""
