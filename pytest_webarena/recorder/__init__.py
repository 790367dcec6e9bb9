"""Makes tasks from a person's actions in a browser, read from the signals of the session.

`steps` makes steps of signals, and `selectors` makes selectors for their elements. `selector_proving` does the steps on
fresh sites and keeps the selectors that find the same element, and `writing` writes the task. `task_building` combines
them, for the terminal and for the page in `page`. When the sites have changed, `replaying` does a solution again,
`healing` finds elements by the other selectors that were kept, and `rewriting` updates the task's file.
"""
