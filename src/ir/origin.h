// Where in the user's model a node comes from.
#pragma once

#include <string>
#include <vector>

#include "ir/ids.h"

namespace flambeau {

// One level of the module hierarchy, outermost first.
struct ModuleFrame {
  Symbol path;        // "layers.3.attn"; empty for the root
  Symbol class_name;  // "torch.nn.modules.linear.Linear"

  friend bool operator==(const ModuleFrame&, const ModuleFrame&) = default;
};

struct Origin {
  std::vector<ModuleFrame> modules;
  Symbol stack_trace;  // Python's own text, innermost frame last; may be empty
  Symbol node_name;    // of the captured graph: "linear_3"
  Symbol target;       // of the captured graph: "aten.linear.default"
  NodeId node;         // in the ATen graph as read; invalid for nodes that have none
  // Of a node that stands for several: the others' origins, each without such a list.
  std::vector<OriginId> merged;

  Symbol module_path() const { return modules.empty() ? Symbol{0} : modules.back().path; }
};

// "model.py:17" of the innermost frame of a Python stack trace that lies in the
// user's own code, else of the innermost; empty if there is none.
std::string SourceLine(std::string_view stack_trace);

}  // namespace flambeau
