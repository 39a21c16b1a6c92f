"""From a judge's reply to a verdict, by named policies.

`reading` says what a reading is and which replies hold none from the outset; `thinking`
takes hidden reasoning out; `places` finds where a verdict may stand. `labels`, `ratings`,
`pairs` and `numbers` read what stands there, each with a version for the digests of those
who use it; `reference` reads as FastChat and Arena-Hard do. No reader guesses: a reply
without a clear verdict gives a reason, never a default.
"""
