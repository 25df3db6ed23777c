// Boosted trees grown on rows whose values are put into bins: histogram-based gradient boosting (Friedman 2001; Ke et
// al. 2017), with Newton steps.
//
// A leaf with the sums G and H of the first and second derivatives of the loss adds -rate G/(H + ridge) to a score. The
// split of a node that gains most, G_l^2/(H_l + ridge) + G_r^2/(H_r + ridge) - G^2/(H + ridge), is made first, of all
// nodes of a tree, until this has kLeaves.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

namespace confidently {

// Trees as src/confidently/views/forest.py describes them.
struct GrownTrees {
    std::vector<std::int32_t> column, right, root, output;
    std::vector<float> threshold, value;
    std::vector<std::int8_t> missing_left;
    std::vector<double> base, gain;  // by score; by column
};

// The bins of values, column by column: each has about as many rows, or one value. NaN has a bin of its own, the last.
// Of a column with a bin that most rows are in, such as zeros, the others are listed row by row.
class BinnedRows {
  public:
    static constexpr std::size_t kBins = 255;                    // of a column, besides that of missing values
    static constexpr std::size_t kFewBins = 16, kRowsOfBin = 8;  // few rows have fewer bins, but at least so many
    static constexpr double kMost = 0.75;                        // of the rows

    // rows: n x d, one row after the other
    BinnedRows(const float* rows, std::int64_t n, std::int64_t d) : n(n), d(d), edges(static_cast<std::size_t>(d)) {
        const std::size_t bins = std::clamp(static_cast<std::size_t>(n) / kRowsOfBin, kFewBins, kBins);
        code.resize(static_cast<std::size_t>(n * d));
        start.push_back(0);
        std::vector<float> sorted;
        for (std::int64_t j = 0; j < d; ++j) {
            sorted.clear();
            for (std::int64_t i = 0; i < n; ++i)
                if (!std::isnan(rows[i * d + j])) sorted.push_back(rows[i * d + j]);
            has_missing.push_back(static_cast<std::int64_t>(sorted.size()) < n);
            std::sort(sorted.begin(), sorted.end());
            std::vector<float>& own = edges[static_cast<std::size_t>(j)];
            find_edges(sorted, bins, own);
            for (std::int64_t i = 0; i < n; ++i) {
                const float x = rows[i * d + j];
                const auto bin = std::isnan(x) ? static_cast<std::ptrdiff_t>(own.size() + 1)
                                               : std::lower_bound(own.begin(), own.end(), x) - own.begin();
                code[static_cast<std::size_t>(j * n + i)] = static_cast<std::uint8_t>(bin);
            }
            start.push_back(start.back() + own.size() + 1 + has_missing.back());
            usual.push_back(usual_bin(j));
        }
        list_others();
    }

    std::int64_t n, d;
    std::vector<std::vector<float>> edges;  // by column: values up to edge b are in the bins up to b
    std::vector<std::uint8_t> code;         // by column and row
    std::vector<char> has_missing;          // by column
    std::vector<std::size_t> start;         // by column: its first bin among those of all
    std::vector<std::ptrdiff_t> usual;      // by column: the bin that most rows are in, among those of all; -1: none
    // the bins, among those of all, that a row is in where a column has a usual one and this is another: of row i those
    // from first[i] to first[i + 1]
    std::vector<std::size_t> first;
    std::vector<std::uint32_t> others;

  private:
    std::ptrdiff_t usual_bin(std::int64_t j) const {
        std::vector<std::int64_t> rows(kBins + 1, 0);
        for (std::int64_t i = 0; i < n; ++i) ++rows[code[static_cast<std::size_t>(j * n + i)]];
        const auto most = std::max_element(rows.begin(), rows.end());
        if (double(*most) < kMost * double(n)) return -1;
        return static_cast<std::ptrdiff_t>(start[static_cast<std::size_t>(j)]) + (most - rows.begin());
    }

    void list_others() {
        for (std::int64_t i = 0; i < n; ++i) {
            first.push_back(others.size());
            for (std::size_t j = 0; j < usual.size(); ++j) {
                const std::size_t bin = start[j] + code[j * static_cast<std::size_t>(n) + static_cast<std::size_t>(i)];
                if (usual[j] >= 0 && bin != static_cast<std::size_t>(usual[j]))
                    others.push_back(static_cast<std::uint32_t>(bin));
            }
        }
        first.push_back(others.size());
    }

    // Edges between neighbors, or quantiles of values if these are many. No edge is as large as what lies above it.
    static void find_edges(const std::vector<float>& sorted, std::size_t bins, std::vector<float>& edges) {
        std::vector<float> distinct;
        std::unique_copy(sorted.begin(), sorted.end(), std::back_inserter(distinct));
        const std::size_t n = sorted.size();
        for (std::size_t k = 1; k < std::min(distinct.size(), bins); ++k) {
            double edge = (double(distinct[k - 1]) + double(distinct[k])) / 2.0;
            if (distinct.size() > bins) {
                const std::size_t at = n * k / bins;
                edge = n * k % bins ? sorted[at] : (double(sorted[at - 1]) + double(sorted[at])) / 2.0;
            }
            auto down = static_cast<float>(edge);
            if (double(down) > edge) down = std::nextafter(down, -std::numeric_limits<float>::infinity());
            if (edges.empty() || down > edges.back()) edges.push_back(down);
        }
    }
};

class Booster {
  public:
    static constexpr int kLeaves = 31;
    static constexpr std::int64_t kRowsOfLeaf = 20;
    static constexpr double kRate = 0.1, kRidge = 1.0, kLeastCurvature = 1e-3, kLeastShare = 1e-15;

    Booster(const BinnedRows& rows, const double* weight, int rounds, std::int64_t outputs)
        : rows_(rows), weight_(weight), rounds_(rounds), order_(size()), spare_(size()), slope_(size()),
          curvature_(size()) {
        trees.base.assign(static_cast<std::size_t>(outputs), 0.0);
        trees.gain.assign(static_cast<std::size_t>(rows.d), 0.0);
        total_ = std::accumulate(weight, weight + rows.n, 0.0);
    }

    GrownTrees trees;

    // Grows trees of numbers, n of them, for a score.
    void numbers(const double* y, std::int32_t output) {
        double mean = 0.0;
        for (std::size_t i = 0; i < size(); ++i) mean += weight_[i] * y[i] / total_;
        trees.base[static_cast<std::size_t>(output)] = mean;
        std::vector<double> score(size(), mean);
        for (int round = 0; round < rounds_; ++round) {
            for (std::size_t i = 0; i < size(); ++i) set(i, score[i] - y[i], 1.0);
            grow(output, score.data());
        }
    }

    // Grows trees of the logarithm of the odds that y is 1; otherwise it is 0.
    void odds(const double* y, std::int32_t output) {
        double share = 0.0;
        for (std::size_t i = 0; i < size(); ++i) share += weight_[i] * y[i] / total_;
        share = std::clamp(share, kLeastShare, 1.0 - kLeastShare);
        const double begin = std::log(share / (1.0 - share));
        trees.base[static_cast<std::size_t>(output)] = begin;
        std::vector<double> score(size(), begin);
        for (int round = 0; round < rounds_; ++round) {
            for (std::size_t i = 0; i < size(); ++i) {
                const double p = 1.0 / (1.0 + std::exp(-score[i]));
                set(i, p - y[i], p * (1.0 - p));
            }
            grow(output, score.data());
        }
    }

    // Grows trees of scores whose softmax is the probability of classes; y: their positions among `classes`.
    void softmax(const std::vector<std::int32_t>& y, const std::vector<std::int32_t>& classes) {
        const std::size_t k = classes.size(), n = size();
        std::vector<double> begin(k, 0.0), score(k * n), p(k * n);
        for (std::size_t i = 0; i < n; ++i) begin[static_cast<std::size_t>(y[i])] += weight_[i] / total_;
        double mean = 0.0;
        for (double& b : begin) mean += (b = std::log(std::max(b, kLeastShare))) / static_cast<double>(k);
        for (std::size_t c = 0; c < k; ++c) {
            trees.base[static_cast<std::size_t>(classes[c])] = begin[c] -= mean;
            std::fill_n(score.begin() + static_cast<std::ptrdiff_t>(c * n), n, begin[c]);
        }
        for (int round = 0; round < rounds_; ++round) {
            for (std::size_t i = 0; i < n; ++i) {
                double largest = score[i], sum = 0.0;
                for (std::size_t c = 1; c < k; ++c) largest = std::max(largest, score[c * n + i]);
                for (std::size_t c = 0; c < k; ++c) sum += p[c * n + i] = std::exp(score[c * n + i] - largest);
                for (std::size_t c = 0; c < k; ++c) p[c * n + i] /= sum;
            }
            for (std::size_t c = 0; c < k; ++c) {
                for (std::size_t i = 0; i < n; ++i) {
                    const double own = p[c * n + i];
                    set(i, own - double(y[i] == static_cast<std::int32_t>(c)), own * (1.0 - own));
                }
                grow(classes[c], score.data() + c * n);
            }
        }
    }

  private:
    struct Sums {
        double slope, curvature;
        std::int64_t rows;

        void add(const Sums& other) {
            slope += other.slope;
            curvature += other.curvature;
            rows += other.rows;
        }
        Sums without(const Sums& other) const {
            return {slope - other.slope, curvature - other.curvature, rows - other.rows};
        }
        double worth() const { return slope * slope / (curvature + kRidge); }
        bool may_be_leaf() const { return rows >= kRowsOfLeaf && curvature >= kLeastCurvature; }
    };

    struct Node {
        std::int64_t first, last;  // its rows in the order
        Sums sums;
        std::vector<Sums> bins;  // of all columns, until it is split
        double gain = 0.0;       // of its best split; 0: there is none
        std::int64_t column = -1, edge = 0;
        bool missing_left = false;
        Sums below{};  // of the left child
        std::size_t left = 0, right = 0;
    };

    const BinnedRows& rows_;
    const double* weight_;
    int rounds_;
    double total_;
    std::vector<std::int32_t> order_, spare_;  // rows, node by node
    std::vector<double> slope_, curvature_;    // of the loss, by row
    std::vector<Sums> own_;                    // of the rows of a node
    std::vector<Node> nodes_;
    std::vector<std::vector<Sums>> spare_bins_;  // of nodes that need none any more

    std::size_t size() const { return static_cast<std::size_t>(rows_.n); }

    void set(std::size_t i, double slope, double curvature) {
        slope_[i] = weight_[i] * slope;
        curvature_[i] = weight_[i] * curvature;
    }

    // Grows a tree, and adds it to the scores.
    void grow(std::int32_t output, double* score) {
        std::iota(order_.begin(), order_.end(), 0);
        for (Node& node : nodes_) drop_bins(node);
        nodes_.assign(1, Node{0, rows_.n, {}, {}});
        for (std::size_t i = 0; i < size(); ++i) nodes_[0].sums.add({slope_[i], curvature_[i], 1});
        count(nodes_[0]);
        find_split(nodes_[0]);
        for (int leaves = 1; leaves < kLeaves; ++leaves) {
            std::size_t best = 0;
            for (std::size_t k = 1; k < nodes_.size(); ++k)
                if (nodes_[k].gain > nodes_[best].gain) best = k;
            if (!(nodes_[best].gain > 0.0)) break;
            split(best, leaves + 1 < kLeaves);
        }
        trees.root.push_back(static_cast<std::int32_t>(trees.column.size()));
        trees.output.push_back(output);
        write(0, score);
    }

    void drop_bins(Node& node) {
        if (!node.bins.empty()) spare_bins_.push_back(std::move(node.bins));
        node.bins = {};
    }

    void count(Node& node) {
        if (spare_bins_.empty())
            node.bins.resize(rows_.start.back());
        else {
            node.bins = std::move(spare_bins_.back());
            spare_bins_.pop_back();
            std::memset(node.bins.data(), 0, node.bins.size() * sizeof(Sums));
        }
        const std::int32_t* row = order_.data() + node.first;
        const auto n = static_cast<std::size_t>(node.last - node.first);
        own_.resize(n);
        for (std::size_t k = 0; k < n; ++k) {
            const auto i = static_cast<std::size_t>(row[k]);
            own_[k] = {slope_[i], curvature_[i], 1};
        }
        for (std::size_t k = 0; k < n; ++k) {
            const auto i = static_cast<std::size_t>(row[k]);
            for (std::size_t e = rows_.first[i]; e < rows_.first[i + 1]; ++e) node.bins[rows_.others[e]].add(own_[k]);
        }
        for (std::int64_t j = 0; j < rows_.d; ++j) {
            const auto column = static_cast<std::size_t>(j);
            Sums* bins = node.bins.data() + rows_.start[column];
            if (rows_.usual[column] >= 0) {  // which has the rest
                Sums rest = node.sums;
                for (Sums* bin = bins; bin < node.bins.data() + rows_.start[column + 1]; ++bin)
                    rest = rest.without(*bin);
                node.bins[static_cast<std::size_t>(rows_.usual[column])] = rest;
                continue;
            }
            const std::uint8_t* code = rows_.code.data() + j * rows_.n;
            for (std::size_t k = 0; k < n; ++k) bins[code[row[k]]].add(own_[k]);
        }
    }

    void find_split(Node& node) const {
        node.gain = 0.0;
        if (node.sums.rows < 2 * kRowsOfLeaf) return;
        for (std::int64_t j = 0; j < rows_.d; ++j) {
            const auto column = static_cast<std::size_t>(j);
            const std::size_t edges = rows_.edges[column].size();
            const Sums* bins = node.bins.data() + rows_.start[column];
            for (int missing_left = 0; missing_left <= int(rows_.has_missing[column]); ++missing_left) {
                Sums below{};
                if (missing_left) below.add(bins[edges + 1]);
                // behind the last edge, missing values are by themselves
                const std::size_t last = edges + std::size_t(rows_.has_missing[column] && !missing_left);
                for (std::size_t edge = 0; edge < last; ++edge) {
                    if (bins[edge].rows == 0 && edge > 0) continue;  // as the edge before
                    below.add(bins[edge]);
                    const Sums above = node.sums.without(below);
                    if (above.rows < kRowsOfLeaf) break;
                    if (!below.may_be_leaf() || !above.may_be_leaf()) continue;
                    const double gain = below.worth() + above.worth() - node.sums.worth();
                    if (gain <= node.gain) continue;
                    node.gain = gain;
                    node.column = j;
                    node.edge = static_cast<std::int64_t>(edge);
                    node.missing_left = missing_left;
                    node.below = below;
                }
            }
        }
    }

    void split(std::size_t k, bool goes_on) {
        const std::uint8_t* code = rows_.code.data() + nodes_[k].column * rows_.n;
        const auto column = static_cast<std::size_t>(nodes_[k].column);
        const auto missing = static_cast<std::int64_t>(rows_.edges[column].size()) + 1;
        std::int64_t at = nodes_[k].first, others = 0;
        for (std::int64_t row = nodes_[k].first; row < nodes_[k].last; ++row) {
            const std::int32_t i = order_[static_cast<std::size_t>(row)];
            const bool left = code[i] == missing ? nodes_[k].missing_left : code[i] <= nodes_[k].edge;
            (left ? order_[static_cast<std::size_t>(at++)] : spare_[static_cast<std::size_t>(others++)]) = i;
        }
        std::copy_n(spare_.begin(), others, order_.begin() + at);
        Node left{nodes_[k].first, at, nodes_[k].below, {}}, right{at, nodes_[k].last, {}, {}};
        right.sums = nodes_[k].sums.without(left.sums);
        if (!rows_.has_missing[column]) nodes_[k].missing_left = left.sums.rows > right.sums.rows;
        if (goes_on && std::max(left.sums.rows, right.sums.rows) >= 2 * kRowsOfLeaf) {
            Node& small = left.sums.rows < right.sums.rows ? left : right;
            Node& large = &small == &left ? right : left;
            count(small);
            large.bins = std::move(nodes_[k].bins);
            for (std::size_t b = 0; b < large.bins.size(); ++b) large.bins[b] = large.bins[b].without(small.bins[b]);
            find_split(left);
            find_split(right);
        }
        trees.gain[column] += nodes_[k].gain;
        nodes_[k].gain = 0.0;
        drop_bins(nodes_[k]);
        nodes_[k].left = nodes_.size();
        nodes_[k].right = nodes_.size() + 1;
        nodes_.push_back(std::move(left));
        nodes_.push_back(std::move(right));
    }

    // Writes a node and those below it, and adds its leaves to the scores of their rows.
    void write(std::size_t k, double* score) {
        const Node& node = nodes_[k];
        const auto here = trees.column.size();
        const bool is_leaf = node.left == 0;
        const double value = -kRate * node.sums.slope / (node.sums.curvature + kRidge);
        trees.column.push_back(is_leaf ? -1 : static_cast<std::int32_t>(node.column));
        trees.threshold.push_back(is_leaf ? 0.0f : edge_of(node));
        trees.value.push_back(static_cast<float>(value));
        trees.missing_left.push_back(!is_leaf && node.missing_left);
        trees.right.push_back(0);
        if (is_leaf) {
            for (std::int64_t row = node.first; row < node.last; ++row)
                score[order_[static_cast<std::size_t>(row)]] += value;
            return;
        }
        write(node.left, score);
        trees.right[here] = static_cast<std::int32_t>(trees.column.size());
        write(node.right, score);
    }

    float edge_of(const Node& node) const {
        const std::vector<float>& edges = rows_.edges[static_cast<std::size_t>(node.column)];
        const auto edge = static_cast<std::size_t>(node.edge);
        return edge < edges.size() ? edges[edge] : std::numeric_limits<float>::max();
    }
};

}  // namespace confidently
