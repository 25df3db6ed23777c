// The pass over a chunk of rows for Python, and what it needs: rows written out and products.
#include <nanobind/stl/optional.h>

#include "bindings/learner.hpp"
#include "covariances/batch_products.hpp"
#include "covariances/blas.hpp"
#include "covariances/gram.hpp"
#include "covariances/support_gram.hpp"

namespace confidently::python {

namespace {

// the number of rows trained on, and one dict per learner
using Learned = nb::typed<nb::tuple, std::int64_t, nb::typed<nb::list, Dict>>;
// values, columns, start
using CsrArrays = nb::typed<nb::tuple, Vector<double>, Vector<std::int32_t>, Vector<std::int64_t>>;

const Optional<std::int64_t> kNoOrder;

constexpr std::size_t kMaxVectors = std::size_t(1) << 31;

struct ProductLearner {
    AnyRule rule;
    Task task;
    Sharing sharing;
    double prior_variance, min_variance;

    // Trains on the rows of a chunk as long as one Gram matrix is precise enough. Returns their number and the updates.
    template <class Real>
    Learned learn(const Dict& state, Input<Real, 3> gram, Input<double, 2> start, Input<double, 1> norm,
                  Input<std::int32_t, 1> labels, Optional<std::int64_t> label_start, Optional<double> weight,
                  Optional<double> class_weight, bool calibrate, std::optional<Array<double, 1>> log_loss,
                  std::optional<Array<double, 2>> logits) const {
        const Chunk chunk(*this, state, start, norm);
        const std::size_t vectors = std::size_t(chunk.rows) * (sharing == Sharing::joint ? std::size_t(chunk.columns) : 1);
        require(gram.shape(0) == std::size_t(sharing == Sharing::independent ? chunk.columns : 1) && gram.shape(1) == vectors &&
                    gram.shape(2) == vectors && vectors < kMaxVectors, "the Gram matrix does not fit the rows");
        auto pass = chunk.pass<Real, WholeGram<Real>>(
            [&](std::size_t l) { return WholeGram<Real>{gram.data() + l * vectors * vectors, int(vectors)}; });
        const std::int64_t done = run<Real>(pass, chunk, {labels, label_start, weight, class_weight, kNoOrder, 0, chunk.rows}, calibrate,
                                            log_loss, logits);
        return nb::make_tuple(done, updates(pass));
    }

    // The same for the joint covariance of a kernel, whose Gram matrix is computed where it is needed (support_gram.hpp). The
    // updates come with A^-1 t(z) of their directions z.
    Learned learn_support(const Dict& state, std::optional<Input<double, 2>> inverse, Input<double, 2> kernel, Input<double, 2> own,
                          Input<std::int32_t, 2> sides, Input<std::int32_t, 1> plus, Input<std::int32_t, 1> minus,
                          Input<double, 2> solved, Input<double, 2> along, Input<double, 2> start, Input<double, 1> norm,
                          Input<std::int32_t, 1> labels, Optional<std::int64_t> label_start, Optional<double> weight,
                          Optional<double> class_weight, bool calibrate, std::optional<Array<double, 1>> log_loss,
                          std::optional<Array<double, 2>> logits) const {
        const Chunk chunk(*this, state, start, norm);
        const std::size_t rows = std::size_t(chunk.rows), support = sides.shape(0), n = plus.shape(0);
        const std::size_t vectors = rows * std::size_t(chunk.columns);
        require(sharing == Sharing::joint, "the covariance must be joint");
        require(support < kMaxVectors && vectors < kMaxVectors && n < kMaxVectors, "there are too many rows or columns");
        require(sides.shape(1) == 2 && kernel.shape(0) == support && kernel.shape(1) == rows && own.shape(0) == rows &&
                    own.shape(1) == rows && (!inverse || (inverse->shape(0) == support && inverse->shape(1) == support)),
                "the kernel does not fit the rows");
        require(minus.shape(0) == n && solved.shape(0) == n && solved.shape(1) == support && along.shape(0) == n &&
                    along.shape(1) == vectors, "the directions do not fit the rows");
        const auto below = [](const std::int32_t* numbers, std::size_t n, std::int64_t end) {
            for (std::size_t i = 0; i < n; ++i) require(numbers[i] >= kNone && numbers[i] < end, "vectors out of range");
        };
        below(sides.data(), 2 * support, chunk.columns);
        below(plus.data(), n, std::int64_t(vectors));
        below(minus.data(), n, std::int64_t(vectors));
        const Directions likely{plus.data(), minus.data(), solved.data(), along.data(), int(n)};
        auto pass = chunk.pass<double, SupportGram>([&](std::size_t) {
            return SupportGram(inverse ? inverse->data() : nullptr, kernel.data(), own.data(), sides.data(), int(support), chunk.rows,
                               chunk.columns, likely);
        });
        const std::int64_t done = run<double>(pass, chunk, {labels, label_start, weight, class_weight, kNoOrder, 0, chunk.rows}, calibrate,
                                              log_loss, logits);
        nb::list found = updates(pass);
        const GramCovariance<SupportGram>& covariance = pass.covariances[0];
        std::vector<double> chosen;
        chosen.reserve(covariance.direction.size() * support);
        for (const int z : covariance.direction) {
            const double* first = covariance.gram.solved(z);
            chosen.insert(chosen.end(), first, first + support);
        }
        found[0]["solved"] = array_of(std::move(chosen));
        return nb::make_tuple(done, found);
    }

  private:
    // A chunk of rows known by products, and the learner's numbers.
    struct Chunk {
        const ProductLearner& learner;
        const Dict& state;
        const Input<double, 2>& start;
        const Input<double, 1>& norm;
        int rows, columns;

        Chunk(const ProductLearner& learner, const Dict& state, const Input<double, 2>& start, const Input<double, 1>& norm)
            : learner(learner), state(state), start(start), norm(norm) {
            require(start.shape(0) < kMaxVectors && start.shape(1) < kMaxVectors, "there are too many rows or columns");
            rows = static_cast<int>(start.shape(0)), columns = static_cast<int>(start.shape(1));
            const Task task = learner.task;
            require_writable(state);
            require_counts(state, task, columns, independent());
            const bool one_vs_rest = task == Task::one_vs_rest || task == Task::multilabel_one_vs_rest;
            require(task == Task::softmax ? learner.sharing != Sharing::joint : independent() == one_vs_rest,
                    "independent covariances are for one-vs-rest and softmax");
            require(norm.shape(0) == start.shape(0), "one norm per row is needed");
        }

        bool independent() const { return learner.sharing == Sharing::independent; }

        template <class Real, class Gram, class GramOf>
        GramPass<Real, Gram> pass(GramOf&& gram_of) const {
            const Scales scales{data<double>(state, "scale"), data<double>(state, "folded"), independent()};
            return {learner.sharing, gram_of, start.data(), norm.data(), rows, columns, learner.task == Task::multilabel ? 2 : 1,
                    scales, std::max(learner.min_variance, kDenseNoise<Real>) * learner.prior_variance};
        }
    };

    // Trains on the rows until one lacks precision; returns their number.
    template <class Real, class Pass>
    std::int64_t run(Pass& pass, const Chunk& chunk, const Examples& examples, bool calibrate,
                     std::optional<Array<double, 1>>& log_loss, std::optional<Array<double, 2>>& logits) const {
        examples.check(task, chunk.columns, chunk.rows);
        std::int64_t* counters = data<std::int64_t>(chunk.state, "counters");
        const Counters count{counters[0], counters[1], counters[2], data<std::int64_t>(chunk.state, "updates")};
        const UnitRows units(chunk.rows);
        Batch batch = examples.batch(units);
        batch.to = 0;
        double* calibration = calibrate ? data<double>(chunk.state, "calibration") : nullptr;
        Progressive progressive = progressive_of(log_loss, logits, task, chunk.rows, chunk.columns);
        with_task<ProductCovariance<Pass>>(task, [&](auto kind) {
            nb::gil_scoped_release release;
            ProductCovariance<Pass> covariance{&pass};
            const bool independent = chunk.independent();
            const Inspector inspector{units, 0.0, HUGE_VAL};
            for (; batch.from < chunk.rows && (batch.from == 0 || pass.precise(int(batch.from))); ++batch.from) {
                batch.to = batch.from + 1;
                try {
                    confidently::learn<Real>(covariance, kind, rule, units,
                                             {prior_variance, batch, calibration, progressive, count, independent, inspector});
                } catch (const InvalidRow&) {
                    throw std::overflow_error("a row takes the learner out of range");
                }
                if (progressive.logits) progressive.logits += chunk.columns;
            }
        });
        return batch.from;
    }

    // one dict per learner
    template <class Pass>
    nb::list updates(const Pass& pass) const {
        nb::list out;
        for (std::size_t l = 0; l < pass.covariances.size(); ++l) {
            const auto& c = pass.covariances[l];
            const int n = c.size();
            std::vector<double> share(std::size_t(n) * n), mean;
            for (int u = 0; u < n; ++u) std::copy_n(c.shares(u), u, share.data() + std::size_t(u) * n);
            const std::size_t first = sharing == Sharing::independent ? l : 0;
            const std::size_t last = sharing == Sharing::independent ? l + 1 : pass.means.size();
            for (std::size_t k = first; k < last; ++k) mean.insert(mean.end(), pass.means[k].begin(), pass.means[k].end());
            nb::dict learner;
            learner["plus"] = array_of(std::vector<std::int32_t>(c.plus));
            learner["minus"] = array_of(std::vector<std::int32_t>(c.minus));
            learner["share"] = array_of(std::move(share));
            learner["weight"] = array_of(std::vector<double>(c.weight));
            learner["mean"] = array_of(std::move(mean));
            learner["age"] = array_of(std::vector<double>(pass.ages[l]));
            learner["factor"] = c.factor;
            out.append(learner);
        }
        return out;
    }
};

struct RowRange {
    const std::int64_t* order;
    std::int64_t from, n;

    RowRange(const Matrix& matrix, const Optional<std::int64_t>& order, std::int64_t from, std::int64_t n,
             std::int64_t features, bool intercept)
        : order(order ? order->data() : nullptr), from(from), n(n) {
        require(n >= 0 && (order ? std::int64_t(order->shape(0)) == n : from >= 0 && n <= matrix.rows->n_rows - from),
                "rows out of range");
        if (order) require_below(order->data(), n, matrix.rows->n_rows, "rows out of range");
        require_columns(matrix);
        require(matrix.rows->n_columns + intercept <= features, "more columns than features");
    }
};

template <class Real>
void fill(const Matrix& matrix, Optional<std::int64_t> order, std::int64_t from, bool intercept, Array<Real, 2> out) {
    const std::int64_t n = out.shape(0), width = out.shape(1);
    const RowRange range(matrix, order, from, n, width, intercept);
    nb::gil_scoped_release release;
    fill_rows(*matrix.rows, range.order, from, n, intercept, width, out.data());
}

template <class Real>
void multiply(const Matrix& matrix, Optional<std::int64_t> order, std::int64_t from, bool intercept, Input<Real, 2> s,
              Array<Real, 2> out) {
    const std::int64_t n = out.shape(0), width = out.shape(1);
    const RowRange range(matrix, order, from, n, std::int64_t(s.shape(0)), intercept);
    require(std::int64_t(s.shape(1)) == width, "the product has as many columns as the matrix");
    nb::gil_scoped_release release;
    multiply_rows(*matrix.rows, range.order, from, n, intercept, s.data(), width, out.data());
}

// copies of some rows, in order
CsrArrays take_rows(const Matrix& matrix, Optional<std::int64_t> order, std::int64_t from, std::int64_t n) {
    const RowRange range(matrix, order, from, n, matrix.rows->n_columns, false);
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

// Functions of scipy.linalg.cython_blas, which name their types: these must begin as what is called here.
struct PythonBlas {
    Blas<float> single_precision;
    Blas<double> double_precision;
    Dict kept;  // so that what the functions belong to stays loaded

    explicit PythonBlas(Dict functions) : kept(functions) {
        find(functions, 's', single_precision);
        find(functions, 'd', double_precision);
    }

    template <class Real>
    const Blas<Real>& of() const {
        if constexpr (std::is_same_v<Real, double>) return double_precision;
        else return single_precision;
    }

  private:
    template <class Real>
    static void find(const Dict& functions, char letter, Blas<Real>& blas) {
        const std::string prefix(1, letter);
        blas.gemm = function<decltype(blas.gemm)>(functions, prefix + "gemm", "void (char *, char *, int *, int *, int *, ");
        blas.syrk = function<decltype(blas.syrk)>(functions, prefix + "syrk", "void (char *, char *, int *, int *, ");
    }

    template <class Function>
    static Function function(const Dict& functions, const std::string& name, const std::string& type) {
        require(functions.contains(name.c_str()), "SciPy's BLAS lacks a function");
        const nb::object capsule = functions[name.c_str()];
        require(PyCapsule_CheckExact(capsule.ptr()), "SciPy's BLAS has functions of another kind");
        const char* found = PyCapsule_GetName(capsule.ptr());
        require(found && std::string(found).starts_with(type), "SciPy's BLAS has functions of another type");
        return reinterpret_cast<Function>(PyCapsule_GetPointer(capsule.ptr(), found));
    }
};

void require_strip(std::int64_t first, std::int64_t last, std::size_t n) {
    require(n < kMaxVectors, "there are too many columns");
    require(first >= 0 && first <= last && last <= std::int64_t(n), "columns out of range");
}

template <class Real>
void add_gram(const PythonBlas& blas, Array<Real, 2> s, Input<Real, 2> rows, double sign, std::int64_t first,
              std::int64_t last) {
    const std::size_t n = s.shape(0), k = rows.shape(0);
    require(s.shape(1) == n && rows.shape(1) == n && k < kMaxVectors, "the matrix must be square, and as wide as the rows");
    require_strip(first, last, n);
    if (first == last || k == 0) return;
    nb::gil_scoped_release release;
    blas.of<Real>().add_gram(s.data(), int(n), rows.data(), int(k), Real(sign), int(first), int(last));
}

template <class Real>
void add_product(const PythonBlas& blas, Array<Real, 2> s, Input<Real, 2> left, Input<Real, 2> right, std::int64_t first,
                 std::int64_t last) {
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
                  Input<Real, 2> lower, Input<Real, 2> mean, Input<Real, 1> size, Array<Real, 2> q, Array<Real, 2> change,
                  std::int64_t first, std::int64_t last) {
    const std::size_t n = plus.shape(0), d = g.shape(1), m = mean.shape(0);
    require(n < kMaxVectors && m < kMaxVectors, "there are too many rows");
    require((!minus || minus->shape(0) == n) && lower.shape(0) == n && lower.shape(1) == n && mean.shape(1) == n &&
                size.shape(0) == n && q.shape(0) == n, "one number per update is needed");
    require(q.shape(1) == d && change.shape(0) == m && change.shape(1) == d, "the results do not fit the rows");
    require_below(plus.data(), std::int64_t(n), std::int64_t(g.shape(0)), "rows out of range");
    if (minus) require_below(minus->data(), std::int64_t(n), std::int64_t(g.shape(0)), "rows out of range");
    require_strip(first, last, d);
    if (first == last || n == 0) return;
    const BlockUpdate<Real> update{plus.data(), data_or_null(minus), lower.data(), mean.data(), size.data(), int(n), int(m)};
    nb::gil_scoped_release release;
    update.compute(blas.of<Real>(), g.data(), int(d), q.data(), change.data(), int(first), int(last));
}

template <class Real, class Module, class Class>
void bind_type(Module& m, Class& learner) {
    learner.def("learn", &ProductLearner::learn<Real>, "state"_a, "gram"_a.noconvert(), "start"_a.noconvert(),
                "norm"_a.noconvert(), "labels"_a.noconvert(), "label_start"_a.noconvert().none(), "weight"_a.noconvert().none(),
                "class_weight"_a.noconvert().none(), "calibrate"_a, "log_loss"_a.noconvert().none(),
                "logits"_a.noconvert().none() = nb::none());
    m.def("fill_rows", &fill<Real>, "matrix"_a, "order"_a.noconvert().none(), "first"_a, "intercept"_a, "out"_a.noconvert());
    m.def("multiply_rows", &multiply<Real>, "matrix"_a, "order"_a.noconvert().none(), "first"_a, "intercept"_a, "s"_a.noconvert(),
          "out"_a.noconvert());
    m.def("add_gram", &add_gram<Real>, "blas"_a, "s"_a.noconvert(), "rows"_a.noconvert(), "sign"_a, "first"_a, "last"_a);
    m.def("add_product", &add_product<Real>, "blas"_a, "s"_a.noconvert(), "left"_a.noconvert(), "right"_a.noconvert(), "first"_a,
          "last"_a);
    m.def("update_block", &update_block<Real>, "blas"_a, "G"_a.noconvert(), "plus"_a.noconvert(), "minus"_a.noconvert().none(),
          "lower"_a.noconvert(), "mean"_a.noconvert(), "size"_a.noconvert(), "Q"_a.noconvert(), "change"_a.noconvert(),
          "first"_a, "last"_a);
}

}  // namespace

void bind_batch_products(nb::module_& m) {
    m.attr("min_fraction") = kMinFraction;
    nb::enum_<Sharing>(m, "Sharing")
        .value("joint", Sharing::joint)
        .value("shared", Sharing::shared)
        .value("independent", Sharing::independent);
    auto learner = nb::class_<ProductLearner>(m, "ProductLearner")
        .def("__init__", [](ProductLearner* self, const Rule& rule, Task task, Sharing sharing, double prior_variance,
                            double min_variance) {
            new (self) ProductLearner{rule.any, task, sharing, prior_variance, min_variance};
        }, "rule"_a, "task"_a, "sharing"_a, "prior_variance"_a, "min_variance"_a);
    learner.def("learn_support", &ProductLearner::learn_support, "state"_a, "inverse"_a.noconvert().none(), "kernel"_a.noconvert(),
                "own"_a.noconvert(), "sides"_a.noconvert(), "plus"_a.noconvert(), "minus"_a.noconvert(), "solved"_a.noconvert(),
                "along"_a.noconvert(), "start"_a.noconvert(), "norm"_a.noconvert(), "labels"_a.noconvert(),
                "label_start"_a.noconvert().none(), "weight"_a.noconvert().none(), "class_weight"_a.noconvert().none(),
                "calibrate"_a, "log_loss"_a.noconvert().none(), "logits"_a.noconvert().none() = nb::none());
    m.def("take_rows", &take_rows, "matrix"_a, "order"_a.noconvert().none(), "first"_a, "rows"_a);
    nb::class_<PythonBlas>(m, "Blas").def(nb::init<Dict>(), "functions"_a);
    bind_type<float>(m, learner);
    bind_type<double>(m, learner);
}

}  // namespace confidently::python
