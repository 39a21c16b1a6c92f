"""Draws a run's summary: one self-contained page, its charts, a table for a terminal.

``ladder`` reads facts off a summary, ``answer`` says in words what they amount to,
``charts`` draws, ``page`` lays out, ``text`` prints. Nothing here computes a statistic:
each number shown stands in the summary.
"""
