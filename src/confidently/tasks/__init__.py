"""What is predicted of a row, the fourth choice: one of two classes or of more, any number of labels, or numbers."""
