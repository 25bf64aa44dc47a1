"""Pages of a run for the browser: plain data of an `Optimizer`, and the HTML around it."""
