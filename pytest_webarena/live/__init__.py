"""Guarded live sites: what a trial may ask of the world, and at which addresses.

`world` is what all trials of a broker share: how names are looked up, `pace` with hosts, their `robots`. A `guard` is
one trial's, with the `terms` of its task and catalogue; the gateway asks it for hosts that no route of its own serves,
and gets routes, which connect through `connecting`. Pure parts: `addresses` (which are public), `domains` (what a site
is), `signs` (how sites turn robots away).
"""
