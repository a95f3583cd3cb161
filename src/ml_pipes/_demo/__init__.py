"""What ``ml-pipes demo`` shows: a real model, a real photograph and the pipeline between them."""
