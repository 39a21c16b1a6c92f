"""Honest numbers: intervals, paired and clustered comparisons, ROC, exact bounds.

- `interval`: an interval that names its method, Wilson's and Newcombe's among them.
- `quantile`: the normal and t quantiles that these need.
- `cluster`: rates and differences of rates whose rows come in clusters (tasks), all
  resampled jointly.
- `roc`: what a score from 0 to 100 tells apart.
- `variation`: how far apart two laws of outputs are, exactly on finite alphabets.
- `bounds`: what any test on outputs can reach at that distance.
- `probe`: how many probes until a rare trigger shows.

A number that the data can't give is None or an `UndefinedEstimateError`, never 0, and
no interval has zero width.
"""
