"""Estimators: the learner with the interfaces of scikit-learn and River."""
