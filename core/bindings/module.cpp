// The compiled module. Only this folder depends on Python.
#include "bindings/arrays.hpp"

NB_MODULE(_core, m) {
    m.doc() = "Compiled core of confidently: rules, covariances, the training loop, readers.";
    nb::set_leak_warnings(false);  // a thread that waits for input may hold a reader when an interrupted program exits
    confidently::python::bind_learner(m);
    confidently::python::bind_weights(m);
    confidently::python::bind_predictions(m);
    confidently::python::bind_mira(m);
    confidently::python::bind_bandits(m);
    confidently::python::bind_batch_products(m);
    confidently::python::bind_readers(m);
    confidently::python::bind_topics(m);
    confidently::python::bind_tables(m);
    confidently::python::bind_dicts(m);
    confidently::python::bind_entities(m);
    confidently::python::bind_hierarchy(m);
    confidently::python::bind_views(m);
    confidently::python::bind_stack(m);
    confidently::python::bind_stack_row(m);
    confidently::python::bind_build(m);
}
