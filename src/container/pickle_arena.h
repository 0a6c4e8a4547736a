// How pickled values are kept; between pickle_machine.cpp, which makes them,
// and pickle.cpp, which shows them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "container/pickle.h"

namespace flambeau {

struct PickleArena {
  static constexpr uint32_t kNothing = UINT32_MAX;
  struct Text {
    uint64_t offset, length;
  };
  struct Node {
    PickleKind kind;
    uint32_t parts = 0;   // of containers and calls: index into `parts`
    uint64_t offset = 0;  // of the opcode
    union {
      bool boolean;
      int64_t integer;
      double real;
      Text text;  // string and bytes, in `bytes`
      struct {
        uint32_t first, second;  // global: module, name; call: callee, args; persistent: id
      };
    };
  };
  // Lists and dicts grow after they were made; nothing else does.
  struct Parts {
    std::vector<uint32_t> items;
    std::vector<uint32_t> entries;  // key, value, key, value, …
    uint32_t state = kNothing;
  };

  std::string bytes;  // the whole pickle
  Location origin;
  std::vector<Node> nodes;
  std::vector<Parts> parts;
  uint32_t root = kNothing;

  std::string_view TextOf(uint32_t index) const {
    const Text& text = nodes[index].text;
    return std::string_view(bytes).substr(text.offset, text.length);
  }
};

// Runs the pickle in `arena.bytes`, filling the rest. On failure `*error` says
// what is wrong and where.
Status RunPickle(PickleArena& arena, std::string* error);

}  // namespace flambeau
