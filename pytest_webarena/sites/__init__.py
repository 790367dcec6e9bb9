"""Apps and their replicas: how they run, who has leased them, and how they are proved clean. Never imports Playwright.

- `catalogues` describes the apps.
- `protocol` has the messages between broker and clients; `client` is a worker's side.
- `broker` has the pool and its leases, `backends` run apps, `ledger` compares their data.
- `container_images` builds images; `cleanup` removes what a killed broker leaves.
- `site_daemon` keeps sites open between commands, `doctor` reports what a machine lacks for them.
- `reset_measuring` measures whether replicas could be reused; `recipe_proofs` runs the proofs of container recipes.
  Both start replicas outside of runs (`single_replicas`).
"""
