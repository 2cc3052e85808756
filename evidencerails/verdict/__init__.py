"""The reading: claims beside windows of evidence become one calibrated probability and a label each.

In: claims and passages. Out: `ClaimEvidence` (what the evidence says of a claim) and `ClaimVerdict` (how likely the
claim is not supported, and its label). Start at `reading.read_claims`, then `model.VerdictModel`."""
