"""Evaluation: data sets, metrics with intervals, calibration and reports. Needs the extra `eval`."""
