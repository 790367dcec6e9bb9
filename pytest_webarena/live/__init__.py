"""Guarded live sites: which addresses and requests on the Internet a trial may use.

`internet` holds what all trials of a broker share: name lookup, `rate_limits` per host and `robots` rules. A `guard`
belongs to one trial and applies the `visit_rules` of its task and catalogue. The gateway asks the guard for hosts that
none of its own routes serves, and receives routes that connect through `connecting`. Pure modules: `addresses` (which
addresses are public), `domains` (registrable domains), `bot_walls` (how sites reject robots).
"""
