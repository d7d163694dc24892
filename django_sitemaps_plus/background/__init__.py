"""Background: the work of workers, whoever runs them."""
