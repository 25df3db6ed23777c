// The pass over a chunk of rows for Python, and what it needs: rows written out and products.
#include <nanobind/stl/pair.h>

#include "bindings/product_learner.hpp"
#include "bindings/python_blas.hpp"

namespace confidently::python {

namespace {

// values, columns, start
using CsrArrays = nb::typed<nb::tuple, Vector<double>, Vector<std::int32_t>, Vector<std::int64_t>>;

struct RowRange {
    const std::int64_t* order;
    std::int64_t from, n;

    RowRange(const Matrix& matrix, const Optional<std::int64_t>& order, std::int64_t from, std::int64_t n)
        : order(order ? order->data() : nullptr), from(from), n(n) {
        require(n >= 0 && (order ? std::int64_t(order->shape(0)) == n : from >= 0 && n <= matrix.rows->n_rows - from),
                "rows out of range");
        if (order) require_below(order->data(), n, matrix.rows->n_rows, "rows out of range");
        require_columns(matrix);
    }
};

template <class Real>
void fill(const Matrix& matrix, Optional<std::int64_t> order, std::int64_t from, bool intercept, Array<Real, 2> out) {
    const std::int64_t n = out.shape(0), width = out.shape(1);
    const RowRange range(matrix, order, from, n);
    nb::gil_scoped_release release;
    fill_rows(*matrix.rows, range.order, from, n, intercept, width, out.data());
}

template <class Real>
std::int64_t multiply_sparse(Input<Real, 2> rows, Input<Real, 2> s, Array<Real, 2> out) {
    require(s.shape(0) == rows.shape(1) && out.shape(0) == rows.shape(0) && out.shape(1) == s.shape(1),
            "the product does not fit the matrices");
    nb::gil_scoped_release release;
    return multiply_sparse_rows(rows.data(), std::int64_t(rows.shape(0)), std::int64_t(rows.shape(1)), s.data(),
                                std::int64_t(s.shape(1)), out.data());
}

template <class Real>
Vector<double> squares(Input<Real, 2> rows) {
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    require(d < kMaxVectors, "there are too many columns");
    std::vector<double> found(n);
    for (std::size_t i = 0; i < n; ++i) found[i] = dot(rows.data() + i * d, rows.data() + i * d, int(d));
    return array_of(std::move(found));
}

std::pair<std::int64_t, std::int64_t> wider_row(const Matrix& matrix, Optional<std::int64_t> order, std::int64_t first,
                                                std::int64_t last, std::int64_t width) {
    const std::int64_t n = order ? std::int64_t(order->shape(0)) : matrix.rows->n_rows;
    require(0 <= first && first <= last && last <= n, "rows out of range");
    if (order) require_below(order->data() + first, last - first, matrix.rows->n_rows, "rows out of range");
    require_columns(matrix);
    std::int64_t wider = width;
    nb::gil_scoped_release release;
    const std::int64_t at = first_wider(*matrix.rows, data_or_null(order), first, last, width, wider);
    return {at, wider};
}

// copies of some rows, in order
CsrArrays take_rows(const Matrix& matrix, Optional<std::int64_t> order, std::int64_t from, std::int64_t n) {
    const RowRange range(matrix, order, from, n);
    std::vector<double> values;
    std::vector<std::int32_t> columns;
    std::vector<std::int64_t> start{0};
    RowBuffer buffer;
    for (std::int64_t i = 0; i < n; ++i) {
        matrix.rows->at(range.order ? range.order[i] : from + i, false, buffer).each([&](std::int32_t j, double x) {
            columns.push_back(j);
            values.push_back(x);
        });
        start.push_back(static_cast<std::int64_t>(values.size()));
    }
    return nb::make_tuple(array_of(std::move(values)), array_of(std::move(columns)), array_of(std::move(start)));
}

void require_strip(std::int64_t first, std::int64_t last, std::size_t n) {
    require(n < kMaxVectors, "there are too many columns");
    require(first >= 0 && first <= last && last <= std::int64_t(n), "columns out of range");
}

template <class Real>
void add_gram(const PythonBlas& blas, Array<Real, 2> s, Input<Real, 2> rows, double sign, std::int64_t first,
              std::int64_t last) {
    const std::size_t n = s.shape(0), k = rows.shape(0);
    require(s.shape(1) == n && rows.shape(1) == n && k < kMaxVectors,
            "the matrix must be square, and as wide as the rows");
    require_strip(first, last, n);
    if (first == last || k == 0) return;
    nb::gil_scoped_release release;
    blas.of<Real>().add_gram(s.data(), int(n), rows.data(), int(k), Real(sign), int(first), int(last));
}

template <class Real>
void add_product(const PythonBlas& blas, Array<Real, 2> s, Input<Real, 2> left, Input<Real, 2> right,
                 std::int64_t first, std::int64_t last) {
    const std::size_t n = s.shape(0), k = left.shape(0);
    require(s.shape(1) == n && left.shape(1) == n && right.shape(0) == k && right.shape(1) == n && k < kMaxVectors,
            "the matrix must be square, and as wide as the rows");
    require_strip(first, last, n);
    if (first == last || k == 0) return;
    nb::gil_scoped_release release;
    blas.of<Real>().add_product(s.data(), int(n), left.data(), right.data(), int(k), int(first), int(last));
}

template <class Real>
void update_block(const PythonBlas& blas, Input<Real, 2> g, Input<std::int64_t, 1> plus, Optional<std::int64_t> minus,
                  Input<Real, 2> lower, Input<Real, 2> mean, Input<Real, 1> size, Array<Real, 2> weights,
                  Array<Real, 2> q, std::int64_t first, std::int64_t last) {
    const std::size_t n = plus.shape(0), d = g.shape(1), m = mean.shape(0);
    require(n < kMaxVectors && m < kMaxVectors, "there are too many rows");
    require((!minus || minus->shape(0) == n) && lower.shape(0) == n && lower.shape(1) == n && mean.shape(1) == n &&
                size.shape(0) == n && q.shape(0) == n,
            "one number per update is needed");
    require(q.shape(1) == d && weights.shape(0) == d && weights.shape(1) == m, "the results do not fit the rows");
    require_below(plus.data(), std::int64_t(n), std::int64_t(g.shape(0)), "rows out of range");
    if (minus) require_below(minus->data(), std::int64_t(n), std::int64_t(g.shape(0)), "rows out of range");
    require_strip(first, last, d);
    if (first == last || n == 0) return;
    const BlockUpdate<Real> update{plus.data(), data_or_null(minus), lower.data(), mean.data(), size.data(), int(n),
                                   int(m)};
    std::vector<Real> scratch;
    nb::gil_scoped_release release;
    update.compute(blas.of<Real>(), g.data(), int(d), q.data(), weights.data(), int(first), int(last), scratch);
}

template <class Real, class Module, class Class>
void bind_type(Module& m, Class& learner) {
    learner.def("learn", &ProductLearner::learn<Real>, "state"_a, "gram"_a.noconvert(), "start"_a.noconvert(),
                "norm"_a.noconvert(), "rows"_a, "known"_a.none() = nb::none(), "first"_a = 0, "room"_a = 0);
    m.def("fill_rows", &fill<Real>, "matrix"_a, "order"_a.noconvert().none(), "first"_a, "intercept"_a,
          "out"_a.noconvert());
    m.def("multiply_sparse_rows", &multiply_sparse<Real>, "rows"_a.noconvert(), "s"_a.noconvert(), "out"_a.noconvert());
    m.def("row_squares", &squares<Real>, "rows"_a.noconvert());
    m.def("add_gram", &add_gram<Real>, "blas"_a, "s"_a.noconvert(), "rows"_a.noconvert(), "sign"_a, "first"_a,
          "last"_a);
    m.def("add_product", &add_product<Real>, "blas"_a, "s"_a.noconvert(), "left"_a.noconvert(), "right"_a.noconvert(),
          "first"_a, "last"_a);
    m.def("update_block", &update_block<Real>, "blas"_a, "G"_a.noconvert(), "plus"_a.noconvert(),
          "minus"_a.noconvert().none(), "lower"_a.noconvert(), "mean"_a.noconvert(), "size"_a.noconvert(),
          "weights"_a.noconvert(), "Q"_a.noconvert(), "first"_a, "last"_a);
}

}  // namespace

void bind_batch_products(nb::module_& m) {
    m.attr("min_fraction") = kMinFraction;
    nb::enum_<Sharing>(m, "Sharing")
        .value("joint", Sharing::joint)
        .value("shared", Sharing::shared)
        .value("independent", Sharing::independent);
    auto learner = nb::class_<ProductLearner>(m, "ProductLearner")
                       .def("__init__",
                            [](ProductLearner* self, const Rule& rule, Task task, Sharing sharing,
                               double prior_variance, double min_variance) {
        new (self) ProductLearner{rule.any, task, sharing, prior_variance, min_variance};
    },
                            "rule"_a, "task"_a, "sharing"_a, "prior_variance"_a, "min_variance"_a);
    learner.def("learn_support", &ProductLearner::learn_support, "state"_a, "inverse"_a.noconvert().none(),
                "kernel"_a.noconvert(), "own"_a.noconvert(), "sides"_a.noconvert(), "plus"_a.noconvert(),
                "minus"_a.noconvert(), "solved"_a.noconvert(), "along"_a.noconvert(), "start"_a.noconvert(),
                "norm"_a.noconvert(), "rows"_a);
    m.def("wider_row", &wider_row, "matrix"_a, "order"_a.noconvert().none(), "first"_a, "last"_a, "width"_a);
    m.def("take_rows", &take_rows, "matrix"_a, "order"_a.noconvert().none(), "first"_a, "rows"_a);
    nb::class_<PythonBlas>(m, "Blas").def(nb::init<Dict>(), "functions"_a);
    bind_type<float>(m, learner);
    bind_type<double>(m, learner);
}

}  // namespace confidently::python
