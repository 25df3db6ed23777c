// Whole tables of weights: rows that left the prior, and two classes made of one column.
#include <algorithm>
#include <vector>

#include "bindings/arrays.hpp"
#include "data/label_order.hpp"

namespace confidently::python {

namespace {

// Numbers of the rows of weights that are not at the prior, which is one row.
template <class Real>
Vector<std::int64_t> moved_rows(Input<Real, 3> weights, Input<Real, 3> prior) {
    const std::size_t n = weights.shape(0), size = weights.shape(1) * weights.shape(2);
    require(prior.shape(0) == 1 && prior.shape(1) == weights.shape(1) && prior.shape(2) == weights.shape(2),
            "the prior is not a row of the weights");
    std::vector<std::int64_t> moved;
    const Real *row = weights.data(), *const at_prior = prior.data();
    for (std::size_t i = 0; i < n; ++i, row += size)
        if (!std::equal(row, row + size, at_prior)) moved.push_back(std::int64_t(i));
    return array_of(std::move(moved));
}

// The weights of two classes with the same beliefs as one column: means become their negative and themselves, times a
// fraction. With `variances` these are in plane 1; those of rows that are not at the prior, which is one row, are
// multiplied as well.
template <class Real>
void split_column(Input<Real, 3> weights, Input<Real, 3> prior, double fraction, bool variances, Array<Real, 3> out) {
    const std::size_t n = weights.shape(0), planes = weights.shape(1);
    require(weights.shape(2) == 1 && prior.shape(0) == 1 && prior.shape(1) == planes && prior.shape(2) == 1,
            "the prior is not a row of the weights");
    require(out.shape(0) == n && out.shape(1) == planes && out.shape(2) == 2, "out does not have two columns");
    const Real *row = weights.data(), *const at_prior = prior.data();
    Real* pair = out.data();
    for (std::size_t i = 0; i < n; ++i, row += planes) {
        const double part = std::equal(row, row + planes, at_prior) ? 1.0 : fraction;
        for (std::size_t p = 0; p < planes; ++p, pair += 2) {
            if (variances && p == 1) {
                pair[0] = pair[1] = Real(part * row[p]);
            } else {
                pair[1] = Real(fraction * row[p]);
                pair[0] = Real(0) - pair[1];  // not -0, which later features do not have
            }
        }
    }
}

// Copies rows of weights, in order.
template <class Real>
void copy_rows(Input<Real, 3> weights, Input<std::int64_t, 1> rows, Array<Real, 3> out) {
    const std::size_t n = rows.shape(0), size = weights.shape(1) * weights.shape(2);
    require(out.shape(0) == n && out.shape(1) == weights.shape(1) && out.shape(2) == weights.shape(2),
            "out does not have the shape of the rows");
    require_below(rows.data(), std::int64_t(n), std::int64_t(weights.shape(0)), "rows out of range");
    for (std::size_t i = 0; i < n; ++i)
        std::copy_n(weights.data() + std::size_t(rows.data()[i]) * size, size, out.data() + i * size);
}

// Whether lists of columns, one after the other, have each column once, and only those that there are.
bool lists_are_distinct(Input<std::int64_t, 1> sizes, Input<std::int32_t, 1> columns, std::int64_t n_columns) {
    std::int64_t total = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (sizes.data()[i] < 0 || sizes.data()[i] > std::int64_t(columns.size()) - total) return false;
        total += sizes.data()[i];
    }
    if (total != std::int64_t(columns.size()) || !are_within(columns.data(), columns.size(), n_columns)) return false;
    std::vector<std::int64_t> last(static_cast<std::size_t>(std::max<std::int64_t>(n_columns, 0)), -1);
    const std::int32_t* column = columns.data();
    for (std::size_t i = 0; i < sizes.size(); ++i)
        for (std::int64_t k = 0; k < sizes.data()[i]; ++k) {
            std::int64_t& of_column = last[static_cast<std::size_t>(*column++)];
            if (of_column == std::int64_t(i)) return false;
            of_column = std::int64_t(i);
        }
    return true;
}

// Copies lists of numbers from one array to another.
template <class Number>
void copy_lists(Input<Number, 1> numbers, Input<std::int64_t, 1> from, Input<std::int64_t, 1> to,
                Input<std::int64_t, 1> sizes, Array<Number, 1> out) {
    const std::size_t n = sizes.size();
    require(from.size() == n && to.size() == n, "one place per list is needed");
    const auto are_in = [&](const std::int64_t* start, std::size_t size) {
        for (std::size_t i = 0; i < n; ++i)
            if (sizes.data()[i] < 0 || start[i] < 0 || start[i] > std::int64_t(size) - sizes.data()[i]) return false;
        return true;
    };
    require(are_in(from.data(), numbers.size()) && are_in(to.data(), out.size()), "lists out of range");
    for (std::size_t i = 0; i < n; ++i)
        std::copy_n(numbers.data() + from.data()[i], sizes.data()[i], out.data() + to.data()[i]);
}

}  // namespace

void bind_weights(nb::module_& m) {
    m.def("moved_rows", &moved_rows<float>, "weights"_a.noconvert(), "prior"_a.noconvert());
    m.def("moved_rows", &moved_rows<double>, "weights"_a.noconvert(), "prior"_a.noconvert());
    m.def("split_column", &split_column<float>, "weights"_a.noconvert(), "prior"_a.noconvert(), "fraction"_a,
          "variances"_a, "out"_a.noconvert());
    m.def("split_column", &split_column<double>, "weights"_a.noconvert(), "prior"_a.noconvert(), "fraction"_a,
          "variances"_a, "out"_a.noconvert());
    m.def("lists_are_distinct", &lists_are_distinct, "sizes"_a.noconvert(), "columns"_a.noconvert(), "n_columns"_a);
    m.def("copy_lists", &copy_lists<std::int32_t>, "numbers"_a.noconvert(), "from_start"_a.noconvert(),
          "to_start"_a.noconvert(), "sizes"_a.noconvert(), "out"_a.noconvert());
    m.def("copy_lists", &copy_lists<float>, "numbers"_a.noconvert(), "from_start"_a.noconvert(),
          "to_start"_a.noconvert(), "sizes"_a.noconvert(), "out"_a.noconvert());
    m.def("copy_lists", &copy_lists<double>, "numbers"_a.noconvert(), "from_start"_a.noconvert(),
          "to_start"_a.noconvert(), "sizes"_a.noconvert(), "out"_a.noconvert());
    m.def("copy_rows", &copy_rows<float>, "weights"_a.noconvert(), "rows"_a.noconvert(), "out"_a.noconvert());
    m.def("copy_rows", &copy_rows<double>, "weights"_a.noconvert(), "rows"_a.noconvert(), "out"_a.noconvert());
}

}  // namespace confidently::python
