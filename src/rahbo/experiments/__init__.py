"""The paper's experiments: specification, runner, records, metrics."""
