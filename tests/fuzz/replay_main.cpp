#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/random.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

constexpr std::size_t kLongestRandomInput = 2000;
constexpr std::size_t kLongestMutant = 1U << 16U;

std::vector<Input> read_corpus(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Input> corpus;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return corpus;
}

Input random_input(xfer::SeededRandom& random) {
  Input input(random.below(random.chance(0.5) ? 80 : kLongestRandomInput));
  for (auto& byte : input) byte = static_cast<std::uint8_t>(random.next_u64());
  return input;
}

/// One to four small changes: a flipped bit, a new byte, a cut, an insertion, an extreme 32-bit
/// word.
Input mutant(const Input& original, xfer::SeededRandom& random) {
  Input input = original;
  for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
    const std::size_t at = input.empty() ? 0 : static_cast<std::size_t>(random.below(input.size()));
    const auto place = input.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random.below(5)) {
      case 0:
        if (!input.empty())
          input[at] = static_cast<std::uint8_t>(input[at] ^ (1U << random.below(8)));
        break;
      case 1:
        if (!input.empty()) input[at] = static_cast<std::uint8_t>(random.next_u64());
        break;
      case 2:
        input.erase(place, random.chance(0.5) ? input.end() : place + (input.empty() ? 0 : 1));
        break;
      case 3:
        if (input.size() < kLongestMutant)
          input.insert(place, static_cast<std::size_t>(1 + random.below(8)),
                       static_cast<std::uint8_t>(random.next_u64()));
        break;
      default: {
        const std::size_t word = at & ~std::size_t{3};
        const bool ones = random.chance(0.5);
        for (std::size_t i = word; i < std::min(word + 4, input.size()); ++i) {
          input[i] = static_cast<std::uint8_t>(ones ? 0xFF : 0x00);
        }
        if (word < input.size() && random.chance(0.5)) input[word] ^= 0x80U;
        break;
      }
    }
  }
  return input;
}

void run(const Input& input) {
  // A copy of exactly the input's size, so that AddressSanitizer sees a read beyond it.
  const std::vector<std::uint8_t> exact(input.begin(), input.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

std::uint64_t argument(const char* text, const char* name) {
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (*text == '\0' || *end != '\0') {
    std::fprintf(stderr, "%s must be a number, not %s\n", name, text);
    std::exit(2);
  }
  return value;
}

}  // namespace

// Runs a fuzz target without libFuzzer: its corpus, then inputs from a seed, half of them mutants
// of the corpus. The seed is fixed unless XFER_SEED is set.
int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: %s CORPUS-FOLDER [RANDOM-INPUTS]\n", argv[0]);
    return 2;
  }
  const std::vector<Input> corpus = read_corpus(argv[1]);
  const std::uint64_t count = argc > 2 ? argument(argv[2], "RANDOM-INPUTS") : 0;
  const char* seed_text = std::getenv("XFER_SEED");
  const std::uint64_t seed = seed_text != nullptr ? argument(seed_text, "XFER_SEED") : 1;
  if (corpus.empty()) {
    std::fprintf(stderr, "no corpus in %s\n", argv[1]);
    return 1;
  }

  std::printf("%zu corpus files, %llu inputs from seed %llu\n", corpus.size(),
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  for (const Input& input : corpus) run(input);
  xfer::SeededRandom random(seed);
  for (std::uint64_t i = 0; i < count; ++i) {
    const bool mutate = random.chance(0.5);
    run(mutate ? mutant(corpus[static_cast<std::size_t>(random.below(corpus.size()))], random)
               : random_input(random));
  }
  return 0;
}
