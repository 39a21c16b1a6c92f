"""Asking a model: exactly these bytes, and everything that the answer says of itself.

`message` holds what is asked and what came back, `client` the one way to ask; behind
it stand an HTTP endpoint, a llama.cpp child process (`local`) and a rule (`scripted`).
`resolve` turns the name that a user types into one of them.
"""
