"""The parts of the check `citations`: marks, sources, statements, quotations, verification, findings."""
