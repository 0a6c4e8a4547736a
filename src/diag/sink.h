// Where diagnostics go while a conversion runs.
//
// One sink a conversion. ContextScope adds "while …" notes to everything that
// is reported inside it; Error returns kFailure so that a reader can write
// `return sink.Error(...)`.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "flambeau/diagnostic.h"
#include "support/result.h"

namespace flambeau {

class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  Failure Error(DiagnosticKind kind, std::string message, Location location = {}, std::string hint = {});
  void Warning(DiagnosticKind kind, std::string message, Location location = {}, std::string hint = {});
  void Add(Diagnostic diagnostic);
  // Forgets all but so many first ones, as if they had not been reported.
  void Truncate(size_t count);

  bool HasErrors() const { return errors_ > 0; }
  size_t error_count() const { return errors_; }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  // The same warning of the same place is given once: rounds of a loop that are walked apart come by it more often.
  std::vector<Diagnostic> Take();

 private:
  friend class ContextScope;
  std::vector<Diagnostic> diagnostics_;
  std::vector<const std::function<void(Diagnostic&)>*> scopes_;
  size_t errors_ = 0;
};

// While alive, `decorate` runs on each diagnostic that is added: it may fill in
// empty parts of the location or append a note. Innermost first.
class ContextScope {
 public:
  ContextScope(Sink& sink, std::function<void(Diagnostic&)> decorate) : sink_(sink), decorate_(std::move(decorate)) {
    sink_.scopes_.push_back(&decorate_);
  }
  ~ContextScope() { sink_.scopes_.pop_back(); }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  Sink& sink_;
  std::function<void(Diagnostic&)> decorate_;
};

}  // namespace flambeau
