"""evaluand: what was evaluated, and what the evaluation would have missed."""
