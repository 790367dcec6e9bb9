"""A small library, and what agents need for tasks in it: a backend, a form of observation, a check, an agent."""
