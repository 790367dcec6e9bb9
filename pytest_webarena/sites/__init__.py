"""Apps and their replicas: what runs, who has it, how it is proved clean. Never Playwright.

`catalogues` says what apps there are, `protocol` what broker and clients say to each other, `client` is a worker's
side. `broker` has the pool and its leases, `backends` run apps, `ledger` tells what differs in their data;
`container_images` builds images, `cleanup` removes what must be gone after any death. Beside them: sites that are kept
open between commands, what a machine lacks for them (`doctor`), whether replicas could be handed on (`measuring`).
"""
