"""The browser room: browsers that trials share, one session per trial; observation and action execution.

`launching` starts a browser, `tabs` are a session's pages, `acting` carries out actions, `observation` is what agents
are shown, `reading` what checks read, `grammars` turn agents' texts into actions, `driven` is for agents that drive
their browser themselves. `engine` hands out sessions; `session` joins all of this for synchronous callers, and
`session_work` does it on the event loop (`loop`).
"""
