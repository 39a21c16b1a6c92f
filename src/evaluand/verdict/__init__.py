"""From a judge's reply to a verdict, by named policies.

`reading` says what a reading is and which replies hold none from the outset; `thinking`
takes hidden reasoning out; `labels` and `ratings` read what is left. No reader guesses:
a reply without a clear verdict gives a reason, never a default.
"""
