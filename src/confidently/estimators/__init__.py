"""The contracts of scikit-learn and River over the learner."""
