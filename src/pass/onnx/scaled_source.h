// Weights times one factor a channel, computed while they are read: nothing as
// large as the weights is ever in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ir/tensor_data.h"

namespace flambeau {

// Seen as [groups, rows, channels, inner], the element of (group, channel)
// takes factor group * channels + channel.
struct ChannelLayout {
  uint64_t rows;
  uint64_t channels;
  uint64_t inner;
};

// The row-major bytes of `weights`, of a floating dtype of at least a byte,
// each element times its factor.
std::shared_ptr<const DataSource> MakeScaledSource(TensorData weights, std::vector<double> factors,
                                                   ChannelLayout layout);

}  // namespace flambeau
