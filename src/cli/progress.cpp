#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>

namespace flambeau::cli {
namespace {

using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t stop_requested = 0;
bool drawn = false;

// A second signal ends the process: a stage that reports no progress does not see the first.
void RequestStop(int signal) {
  stop_requested = 1;
  std::signal(signal, SIG_DFL);
}

struct Times {
  Clock::time_point drawn, writing;  // writing: since when
  bool writes = false;
};

std::string Amount(const Progress& progress, std::chrono::duration<double> writing) {
  if (progress.stage != "writing") return progress.total == 0 ? std::string() : fmt::format("{}/{}", progress.done, progress.total);
  const double done = static_cast<double>(progress.done) / 1e6, total = static_cast<double>(progress.total) / 1e6;
  const std::string speed = writing.count() > 0 ? fmt::format(", {:.0f} MB/s", done / writing.count()) : "";
  return fmt::format("{:.0f}/{:.0f} MB{}", done, total, speed);
}

}  // namespace

std::function<bool(const Progress&)> MakeProgress(bool quiet) {
  std::signal(SIGINT, RequestStop);
  std::signal(SIGTERM, RequestStop);
  const bool draw = !quiet && ::isatty(STDERR_FILENO) != 0;
  const auto start = Clock::now();
  auto times = std::make_shared<Times>(Times{start, start});
  return [=](const Progress& progress) {
    if (stop_requested != 0) return false;
    const auto now = Clock::now();
    if (const bool writes = progress.stage == "writing"; writes != times->writes) {
      times->writes = writes;
      times->writing = now;
    }
    if (!draw || now - start < std::chrono::seconds(1) || now - times->drawn < std::chrono::milliseconds(80)) return true;
    times->drawn = now;
    constexpr int kWidth = 30;
    const double share = progress.total == 0 ? 0 : static_cast<double>(progress.done) / static_cast<double>(progress.total);
    const int filled = std::clamp(static_cast<int>(share * kWidth), 0, kWidth);
    fmt::print(stderr, "\r\x1b[K{:<9} [{}{}] {}", progress.stage, std::string(static_cast<size_t>(filled), '#'),
               std::string(static_cast<size_t>(kWidth - filled), ' '), Amount(progress, now - times->writing));
    std::fflush(stderr);
    drawn = true;
    return true;
  };
}

void ClearProgress() {
  if (drawn) fmt::print(stderr, "\r\x1b[K");
  drawn = false;
}

}  // namespace flambeau::cli
