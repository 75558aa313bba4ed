"""What is wrong: a module for each family of findings, pure functions from looks to findings."""
