// SPDX-License-Identifier: MIT
#include <limits>
#include <string>
#include <vector>

#include <cairn/report/trace_events.hpp>
#include <doctest/doctest.h>

#include "json.hpp"

namespace trace_events_tests {

using namespace cairn;

TEST_CASE("trace_events: slices, rows and counts of a rank, in microseconds") {
  report::rank_trace t{.rank = 1, .rows = {"compute"}, .counted = "bytes alive"};
  t.slices.push_back({"0 Linear<2, 3> forward", "forward", 0, 1'000, 3'500, {{"stage", 0}}});
  t.slices.push_back({"loss", "loss", 0, 3'500, 4'001, {}});
  t.counts.push_back({1'000, 64});
  const std::string file = detail::chrome_file(detail::chrome_events(t));
  CHECK(file ==
        R"({"displayTimeUnit":"ms","traceEvents":[
{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"rank 1"}},
{"ph":"M","pid":1,"tid":0,"name":"process_sort_index","args":{"sort_index":1}},
{"ph":"M","pid":1,"tid":0,"name":"thread_name","args":{"name":"compute"}},
{"ph":"M","pid":1,"tid":0,"name":"thread_sort_index","args":{"sort_index":0}},
{"ph":"X","pid":1,"tid":0,"name":"0 Linear<2, 3> forward","cat":"forward","ts":1.000,"dur":2.500,"args":{"stage":0}},
{"ph":"X","pid":1,"tid":0,"name":"loss","cat":"loss","ts":3.500,"dur":0.501,"args":{}},
{"ph":"C","pid":1,"tid":0,"name":"bytes alive","ts":1.000,"args":{"bytes":64}}
]}
)");
  CHECK(testing::is_json(file));
}

TEST_CASE("trace_events: any name and any number is right JSON") {
  report::rank_trace t{.rows = {"a \"row\" \\ of \n\t\x01 things, ü"}};
  constexpr double inf = std::numeric_limits<double>::infinity();
  t.slices.push_back({"\"", "\\", 0, 0, 1, {{"a\nb", inf}, {"c", -inf}, {"d", inf - inf}, {"e", 1e300}, {"f", -1.5e-7}}});
  const std::string file = detail::chrome_file(detail::chrome_events(t));
  CHECK(testing::is_json(file));
  CHECK(file.find("a \\\"row\\\" \\\\ of \\u000a\\u0009\\u0001 things, ü") != file.npos);
  CHECK(file.find("\"a\\u000ab\":\"inf\"") != file.npos);
  CHECK(testing::is_json(detail::chrome_file("")));
  CHECK(!testing::is_json(file.substr(0, file.size() - 2)));
  CHECK(!testing::is_json(detail::chrome_file("{\"a\":inf},")));
}

TEST_CASE("trace_events: slices that overlap lie on rows side by side") {
  report::rank_trace t{.rows = {"compute"}};
  const std::vector<report::trace_slice> slices{
      {"a", "", 0, 0, 10}, {"b", "", 0, 5, 20}, {"c", "", 0, 10, 12}, {"d", "", 0, 11, 13}, {"e", "", 0, 20, 21}};
  detail::add_side_by_side(t, slices, "communication");
  CHECK(t.rows == std::vector<std::string>{"compute", "communication", "communication, 2 at once", "communication, 3 at once"});
  std::vector<std::size_t> rows;
  for (const report::trace_slice& s : t.slices) rows.push_back(s.row);
  CHECK(rows == std::vector<std::size_t>{1, 2, 1, 3, 1});
}

} // namespace trace_events_tests
