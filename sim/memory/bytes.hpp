// Shared memory of a CTA, or one global buffer: bytes, what is known of each, and who touched each word.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "sim/check/access.hpp"

namespace tmemsim::sim {

inline constexpr std::uint8_t byte_poison = 0xbd;

// Accesses of one byte or word: the last writer, the readers since, and whether they were strong (not weak).
struct WordAccess {
  AccessId writer = 0, reader = 0;
};

class ByteMemory {
 public:
  static constexpr std::uint8_t defined = 1, bad = 2;
  static constexpr std::size_t page_words = 1024;

  ByteMemory() = default;
  explicit ByteMemory(std::size_t size) : data_(size, byte_poison), flags_(size, 0), pages_((size / 4 + page_words) / page_words) {}

  std::size_t size() const { return data_.size(); }
  std::uint8_t* data() { return data_.data(); }
  const std::uint8_t* data() const { return data_.data(); }
  std::uint8_t* flags() { return flags_.data(); }
  const std::uint8_t* flags() const { return flags_.data(); }

  // Calls visit(WordAccess&) for what stands for the bytes [first, first + count): whole words where every byte of a word has
  // the same past and is touched, bytes where not.
  template <class Visit> void for_each_access(std::size_t first, std::size_t count, Visit&& visit) {
    for (std::size_t byte = first; byte < first + count;) {
      const std::size_t word = byte / 4, end = std::min(first + count, (word + 1) * 4);
      WordAccess& access = entry(word);
      if (end - byte == 4 && access.writer != split) {
        visit(access);
      } else {
        auto& bytes = split_of(word, access);
        for (std::size_t b = byte; b < end; ++b) visit(bytes[b % 4]);
      }
      byte = end;
    }
  }
  template <class Visit> void for_each_id(Visit&& visit) const {
    for (const auto& page : pages_) {
      if (!page) continue;
      for (const WordAccess& access : *page)
        if (access.writer != split) visit(access.writer), visit(access.reader);
    }
    for (const auto& [word, bytes] : splits_)
      for (const WordAccess& access : bytes) visit(access.writer), visit(access.reader);
  }
  // Those of the bytes that hold nothing are known bad.
  void spoil_undefined(std::int64_t first, std::int64_t count) {
    const std::int64_t end = std::min(first + count, static_cast<std::int64_t>(flags_.size()));
    for (std::int64_t i = first; i < end; ++i) {
      std::uint8_t& flag = flags_[static_cast<std::size_t>(i)];
      if (!(flag & defined)) flag |= bad;
    }
  }
  // Origins (Machine::origins) of undefined values that have been stored, by word.
  void set_origin(std::size_t byte, std::uint32_t origin) { origins_[byte / 4] = origin; }
  std::uint32_t origin_of(std::size_t byte) const {
    const auto found = origins_.find(byte / 4);
    return found == origins_.end() ? 0 : found->second;
  }

  // Who wrote the byte last.
  AccessId writer_of(std::size_t byte) const {
    const auto& page = pages_[byte / 4 / page_words];
    if (!page) return 0;
    const WordAccess& access = (*page)[byte / 4 % page_words];
    return access.writer == split ? splits_.at(byte / 4)[byte % 4].writer : access.writer;
  }

 private:
  static constexpr AccessId split = ~0u;
  using Page = std::array<WordAccess, page_words>;

  WordAccess& entry(std::size_t word) {
    auto& page = pages_[word / page_words];
    if (!page) page = std::make_unique<Page>();
    return (*page)[word % page_words];
  }
  std::array<WordAccess, 4>& split_of(std::size_t word, WordAccess& access) {
    if (access.writer == split) return splits_.at(word);
    auto& bytes = splits_[word];
    bytes.fill(access);
    access.writer = split;
    return bytes;
  }

  std::vector<std::uint8_t> data_, flags_;
  std::vector<std::unique_ptr<Page>> pages_;
  std::map<std::size_t, std::array<WordAccess, 4>> splits_;
  std::map<std::size_t, std::uint32_t> origins_;
};

}  // namespace tmemsim::sim
