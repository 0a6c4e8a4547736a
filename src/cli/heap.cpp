#include "cli/heap.h"

#include <cstdint>
#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace flambeau::cli {

#ifdef __GLIBC__
void AskForHugePages() {
  constexpr size_t kHugePage = size_t{2} << 20, kReserved = 32 * kHugePage;  // of addresses: memory is taken as it is written
  constexpr size_t kTopPad = 128 << 10;                                      // what glibc has
  constexpr size_t kBlock = 100 << 10;                                       // less than what gets pages of its own
  mallopt(M_TOP_PAD, kReserved);
  void* const before = sbrk(0);
  // The heap grows where what it has does not suffice.
  void* volatile blocks[] = {std::malloc(kBlock), std::malloc(kBlock)};
  for (void* block : blocks) std::free(block);
  mallopt(M_TOP_PAD, kTopPad);
  mallopt(M_TRIM_THRESHOLD, kReserved);
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(before) + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t end = reinterpret_cast<uintptr_t>(sbrk(0));
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}
#else
void AskForHugePages() {}
#endif

}  // namespace flambeau::cli
