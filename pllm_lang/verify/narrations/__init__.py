"""Protocol texts of records, proved: for examples of their parameters, and for the steps of a plan."""
