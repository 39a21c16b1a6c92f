"""Mutation testing of an evaluation: which tampers would it have accepted?

`suite` makes the tasks and `tamper` the tampered stacks; `agent` turns a stack and a task
into a request and a reply into an output; `rules` and `judges` assess outputs; `run`
drives all of it through the store; `blindness` counts and `summary` states the result.
"""
