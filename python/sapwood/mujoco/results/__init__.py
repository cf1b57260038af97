"""Results of steps: contacts, constraints, records of runs, errors and warnings."""
