"""Browsers that trials share, with one session per trial that observes pages and executes actions.

`launching` starts a browser, `tabs` manages a session's pages, `acting` performs actions, `observation` makes what
agents see, `reading` reads pages for checks, `grammars` parse agents' texts to actions, `driven` is for agents that
drive the browser themselves. `engine` opens sessions; `session` combines all of this for synchronous callers, and
`session_work` implements it on the event loop (`loop`).
"""
