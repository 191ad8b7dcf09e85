#pragma once

#include <cstdint>

namespace xfer {

/// Source of random numbers handed to the pure layers: seeded in tests, from the system in the
/// product.
class RandomSource {
 public:
  virtual ~RandomSource() = default;
  /// 64 uniformly distributed bits.
  virtual std::uint64_t next_u64() = 0;

  /// Uniform in [0, bound); bound > 0. Bias below 2^-32 for bounds below 2^32.
  std::uint64_t below(std::uint64_t bound) { return next_u64() % bound; }
  /// Uniform in [0, 1), 53 bits.
  double unit() { return static_cast<double>(next_u64() >> 11U) * 0x1.0p-53; }
  /// True with the given probability.
  bool chance(double probability) { return unit() < probability; }
};

/// xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2018),
/// seeded through splitmix64. Integer arithmetic only, so the sequence is the same with every
/// compiler and library. Not for secrets.
class SeededRandom final : public RandomSource {
 public:
  explicit SeededRandom(std::uint64_t seed) {
    for (auto& word : state_) {
      seed += 0x9E3779B97F4A7C15U;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
      z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
      word = z ^ (z >> 31U);
    }
  }

  std::uint64_t next_u64() override {
    const std::uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17U;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate_left(state_[3], 45);
    return result;
  }

 private:
  static constexpr std::uint64_t rotate_left(std::uint64_t x, unsigned k) {
    return (x << k) | (x >> (64U - k));
  }
  std::uint64_t state_[4] = {};
};

}  // namespace xfer
