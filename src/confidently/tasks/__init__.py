"""What is predicted of a row: one of two classes or of more, any number of labels, or numbers."""
