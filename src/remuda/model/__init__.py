"""What is said: values, predicates, pre-operations, expressions; truth, scores, explanations."""
