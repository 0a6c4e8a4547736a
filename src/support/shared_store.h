// A Store of which a copy is cheap, however much it holds: copies share the
// nodes of a tree until one of them writes below. So many snapshots can be
// taken of what hardly changes.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace flambeau {

// A copy leaves references into the original valid, but what is read through
// them is no longer what the original holds once that has been written.
template <class IdT, class T>
class SharedStore {
 public:
  IdT Add(T item) {
    if (size_ % Root::kItems == 0) roots_.emplace_back();
    OwnLeaf(Own(roots_.back()), size_).items.push_back(std::move(item));
    return IdT{size_++};
  }
  // With items as they are made, up to that size.
  void Grow(uint32_t size) {
    while (size_ < size) Add(T());
  }
  const T& operator[](IdT id) const {
    assert(id.index < size_);
    return LeafAt(*roots_[id.index / Root::kItems], id.index).items[id.index % kWidth];
  }
  // For writing, which no copy sees.
  T& Edit(IdT id) {
    assert(id.index < size_);
    return OwnLeaf(Own(roots_[id.index / Root::kItems]), id.index).items[id.index % kWidth];
  }
  uint32_t size() const { return size_; }
  bool Contains(IdT id) const { return id.index < size_; }

  // Calls function(id), in order, for the items of an earlier copy that may be others now.
  template <class Function>
  void ForEachTouched(const SharedStore& before, Function function) const {
    for (uint32_t i = 0; i < before.roots_.size(); ++i)
      if (roots_[i] != before.roots_[i]) Touched(*roots_[i], *before.roots_[i], i * Root::kItems, function);
  }

 private:
  static constexpr uint32_t kWidth = 32;
  struct Leaf {
    static constexpr uint32_t kItems = kWidth;
    std::vector<T> items;

    Leaf() { items.reserve(kWidth); }  // they must not move
    Leaf(const Leaf& other) : Leaf() { items = other.items; }
    Leaf& operator=(const Leaf&) = delete;
  };
  template <class Child>
  struct Inner {
    static constexpr uint32_t kItems = kWidth * Child::kItems;
    std::array<std::shared_ptr<Child>, kWidth> children;

    static uint32_t PlaceOf(uint32_t index) { return index / Child::kItems % kWidth; }
  };
  using Root = Inner<Inner<Leaf>>;

  static const Leaf& LeafAt(const Leaf& leaf, uint32_t) { return leaf; }
  template <class Child>
  static const Leaf& LeafAt(const Inner<Child>& node, uint32_t index) {
    return LeafAt(*node.children[node.PlaceOf(index)], index);
  }

  template <class Node>
  static Node& Own(std::shared_ptr<Node>& node) {
    if (!node) node = std::make_shared<Node>();
    else if (node.use_count() > 1) node = std::make_shared<Node>(*node);
    return *node;
  }
  static Leaf& OwnLeaf(Leaf& leaf, uint32_t) { return leaf; }
  template <class Child>
  static Leaf& OwnLeaf(Inner<Child>& node, uint32_t index) {
    return OwnLeaf(Own(node.children[node.PlaceOf(index)]), index);
  }

  template <class Function>
  static void Touched(const Leaf&, const Leaf& before, uint32_t begin, Function& function) {
    for (uint32_t i = 0; i < before.items.size(); ++i) function(IdT{begin + i});
  }
  template <class Child, class Function>
  static void Touched(const Inner<Child>& node, const Inner<Child>& before, uint32_t begin, Function& function) {
    for (uint32_t i = 0; i < kWidth && before.children[i]; ++i)
      if (node.children[i] != before.children[i]) Touched(*node.children[i], *before.children[i], begin + i * Child::kItems, function);
  }

  std::vector<std::shared_ptr<Root>> roots_;
  uint32_t size_ = 0;
};

}  // namespace flambeau
