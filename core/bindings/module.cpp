// The compiled module. Nothing outside this folder knows Python.
#include "bindings/arrays.hpp"

NB_MODULE(_core, m) {
    m.doc() = "Compiled core of confidently: rules, geometries, the learning loop, readers.";
    nb::set_leak_warnings(false);  // a thread that waits for input may hold a reader when an interrupted program ends
    confidently::python::bind_learner(m);
    confidently::python::bind_mira(m);
    confidently::python::bind_blocks(m);
    confidently::python::bind_readers(m);
    confidently::python::bind_topics(m);
    confidently::python::bind_tables(m);
    confidently::python::bind_dicts(m);
}
