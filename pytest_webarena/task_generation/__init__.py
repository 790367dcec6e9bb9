"""Ideas for tasks: what a model proposes after a look at a site's pages, answered by two people, settled by a third."""
