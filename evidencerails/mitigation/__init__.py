"""What answers a finding: severity, verification, repair, annotation, abstention, the quality gate."""
