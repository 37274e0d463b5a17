// Plans a graph, checks the certificate with the checker, runs the plan through the C API in an
// arena that ends at a guard page, and compares the outputs with the meaning of the graph.
#ifndef TARSIA_TESTS_REDUCE_RUN_PLAN_H_
#define TARSIA_TESTS_REDUCE_RUN_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isa/graph/specialise.h"
#include "planner/check/checker.h"
#include "planner/plan.h"

namespace tarsia::reduce_test {

// A graph with values for its constants. Aborts on an error: a mistake in a test.
ConcreteGraph MakeGraph(const std::string& text,
                        const std::vector<std::pair<std::string, int64_t>>& sets,
                        const std::string& name = "");
ConcreteGraph MakeGraphOf(const std::string& path,
                          const std::vector<std::pair<std::string, int64_t>>& sets,
                          const std::string& name = "");
// With derivatives that PlanOptions::fast allows.
ConcreteGraph MakeFastGraph(const std::string& text,
                            const std::vector<std::pair<std::string, int64_t>>& sets);

// Elements of each input, exact in its type: multiples of 1/64 between -2 and 2 for floats, small
// numbers for integers.
std::vector<std::vector<double>> RandomInputs(const ConcreteGraph& graph, uint64_t seed);

CertificateFacts FactsOf(const ConcreteGraph& graph);

// The smallest limit that the refusal names; nothing if there is a plan below `limit`.
std::optional<uint64_t> RefusedBelow(const ConcreteGraph& graph, uint64_t limit, LimitKind kind,
                                     size_t ranks = 1);

// The outputs, in the order of memory. `device`: "cpu", "ptx". Fails the test if the plan writes
// beside its arena, or cannot run.
std::vector<std::vector<double>> Run(const Plan& plan, const ConcreteGraph& graph,
                                     const std::vector<std::vector<double>>& inputs,
                                     const std::string& device);

// The outputs of the only graph of `text` as tarsia_graph_execute computes them on the device cpu,
// from memory and to memory of the host; with several ranks, as many threads at once.
std::vector<std::vector<double>> RunThroughApi(const std::string& text, const ConcreteGraph& graph,
                                               const std::vector<std::vector<double>>& inputs,
                                               uint64_t limit, uint32_t ranks = 1);

// Runs under the limit and compares every output with the meaning of the graph. The outputs.
std::vector<std::vector<double>> RunAndCompare(const ConcreteGraph& graph,
                                               const std::vector<std::vector<double>>& inputs,
                                               uint64_t limit, LimitKind kind,
                                               const std::string& device);

// The same with the plans of several ranks, one rank after the other between two merges. Fails the
// test if no axis is shared.
std::vector<std::vector<double>> RunAndCompareShares(const ConcreteGraph& graph,
                                                     const std::vector<std::vector<double>>& inputs,
                                                     uint64_t limit, LimitKind kind, size_t ranks,
                                                     const std::string& device);

// That for no limit, the smallest one, and some between; on `device`. One byte below the smallest
// must be refused.
void CompareAtAllLimits(const ConcreteGraph& graph, uint64_t seed, const std::string& device);

}  // namespace tarsia::reduce_test

#endif  // TARSIA_TESTS_REDUCE_RUN_PLAN_H_
