#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/checked.hpp"
#include "ir/kernel/operand_text.hpp"
#include "ir/kernel/text_form.hpp"
#include "ir/kernel/verify_parts.hpp"
#include "ir/layout/check.hpp"
#include "ir/tcgen05.hpp"

namespace tmemsim::verifier {
namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

class BufferChecker {
 public:
  BufferChecker(const Kernel& kernel, const Buffer& buffer) : kernel_(kernel), buffer_(buffer) {}

  void check() const {
    name_is_free();
    shape();
    type();
    keys_fit_space();
    if (buffer_.layout) layout(*buffer_.layout);
    if (buffer_.space == Space::tmem) tmem();
    if (buffer_.space == Space::shared) shared();
    if (buffer_.init) init();
  }

 private:
  [[noreturn]] void fail(std::string message, std::string hint = {}) const {
    input_error(kernel_.files, buffer_.at, fmt::format("buffer {}: {}", buffer_.name, message), std::move(hint));
  }

  void name_is_free() const {
    if (!is_plain_name(buffer_.name)) fail("this is no name for a buffer", "letters, digits and _, not beginning with a digit, at most 64");
    if (is_reserved_name(buffer_.name)) fail("this name means something else in expressions", "choose another name");
  }

  void shape() const {
    const std::vector<std::int64_t>& shape = buffer_.shape;
    if (shape.empty() || shape.size() > text_form::most_dimensions) {
      fail(fmt::format("a shape has 1 to {} dimensions, not {}", text_form::most_dimensions, shape.size()));
    }
    for (std::int64_t extent : shape) {
      if (extent < 1) fail(fmt::format("the shape {} has an extent below 1", shape_text(shape)));
    }
    if (element_count(buffer_) > most_elements) fail(fmt::format("the shape {} has more than {} elements", shape_text(shape), most_elements));
  }

  void type() const {
    if (buffer_.dtype != Dtype::mbarrier) return;
    if (buffer_.space != Space::shared) fail("an mbarrier lives in shared memory", "space: shared");
    if (buffer_.init) fail("an mbarrier has no initial value");
  }

  void only_in(bool present, Space space, std::string_view key) const {
    if (present && buffer_.space != space) fail(fmt::format("only a {} buffer has '{}', and this one is {}", keyword(space), key, keyword(buffer_.space)));
  }

  void keys_fit_space() const {
    only_in(buffer_.offset.has_value(), Space::shared, "offset");
    only_in(buffer_.slot.has_value() || buffer_.base.has_value(), Space::tmem, "base");
    only_in(buffer_.column != 0, Space::tmem, "col");
    only_in(!buffer_.out.empty(), Space::global, "out");
    if (buffer_.init && buffer_.space != Space::global && buffer_.space != Space::shared) {
      fail(fmt::format("a {} buffer has no initial value", keyword(buffer_.space)), "a program writes it before it reads it");
    }
  }

  void layout(const TileLayout& layout) const {
    const std::int64_t threads = std::int64_t{32} * kernel_.launch.warps;
    const auto proved = check_layout(layout, buffer_.shape, {buffer_.space, bits(buffer_.dtype), threads});
    if (!proved) fail(proved.reason().text, buffer_.space == Space::local ? fmt::format("the launch has {} warps a CTA", kernel_.launch.warps) : "");
    // Columns past 511 are a finding; what no address can hold is wrong input.
    if (proved->columns > farthest_column) fail(fmt::format("the layout reaches column {}, beyond every address", proved->columns - 1));
  }

  void tmem() const {
    if (!buffer_.layout) fail("a tmem buffer needs a layout", "S[(128,8):(1@TLane,1@TCol)]");
    if (buffer_.slot.has_value() == buffer_.base.has_value()) fail("a tmem buffer has one base", "base: the shared slot with the address, or a column");
    if (buffer_.slot) {
      if (*buffer_.slot >= kernel_.buffers.size()) fail("its slot is no buffer");
      const Buffer& slot = kernel_.buffers[*buffer_.slot];
      if (slot.space != Space::shared || slot.dtype != Dtype::u32) {
        fail(fmt::format("its base address stands in a shared u32 word, but {} is {} {}", slot.name, keyword(slot.space), name(slot.dtype)));
      }
    }
    if (buffer_.base && (*buffer_.base < 0 || *buffer_.base > farthest_column)) fail(fmt::format("there is no column {}", *buffer_.base));
    if (buffer_.column < 0 || buffer_.column > farthest_column) fail(fmt::format("there is no column {}", buffer_.column));
  }

  void shared() const {
    if (!buffer_.offset) return;
    if (*buffer_.offset < 0 || *buffer_.offset > shared_window - byte_size(buffer_)) {
      fail(fmt::format("its {} bytes at offset {} do not fit into the {} bytes of shared memory of a CTA", byte_size(buffer_), *buffer_.offset,
                       shared_window));
    }
  }

  void init() const {
    if (const auto* data = std::get_if<InitData>(&*buffer_.init)) {
      if (static_cast<std::int64_t>(data->values.size()) != element_count(buffer_)) {
        fail(fmt::format("'data' has {} values, but the shape {} has {} elements", data->values.size(), shape_text(buffer_.shape), element_count(buffer_)));
      }
    }
    if (const auto* random = std::get_if<InitRandom>(&*buffer_.init); random != nullptr && !random->bits) {
      if (!(random->low <= random->high)) fail("'random' needs low <= high");
    }
  }

  const Kernel& kernel_;
  const Buffer& buffer_;
};

void names_differ(const Kernel& kernel) {
  std::set<std::string_view> names;
  for (const Buffer& buffer : kernel.buffers) {
    if (!names.insert(buffer.name).second) input_error(kernel.files, buffer.at, fmt::format("there are two buffers named {}", buffer.name));
  }
}

void global_memory_fits(const Kernel& kernel) {
  std::int64_t total = 0;
  for (const Buffer& buffer : kernel.buffers) {
    if (buffer.space != Space::global) continue;
    const std::int64_t size = byte_size(buffer);
    if (size > most_global_bytes - total) {
      input_error(kernel.files, buffer.at, fmt::format("the global buffers need more than {} MiB", most_global_bytes >> 20));
    }
    total += size;
  }
}

void registers_fit(const Kernel& kernel) {
  const std::int64_t warps = static_cast<std::int64_t>(cta_count(kernel.launch)) * kernel.launch.warps;
  std::int64_t rows = 0;
  for (const Buffer& buffer : kernel.buffers) {
    if (buffer.space != Space::local) continue;
    rows += register_count(buffer);
    if (rows > most_register_rows) {
      input_error(kernel.files, buffer.at, fmt::format("the local buffers need more than {} registers a thread", most_register_rows));
    }
    if (rows * warps > most_register_rows_in_all) {
      input_error(kernel.files, buffer.at, fmt::format("{} warps with {} registers a thread are too many to simulate", warps, rows), "a smaller grid");
    }
  }
}

}  // namespace

void check_buffers(const Kernel& kernel) {
  if (kernel.buffers.size() > text_form::most_buffers) {
    input_error(kernel.files, kernel.buffers[text_form::most_buffers].at, fmt::format("a kernel has at most {} buffers", text_form::most_buffers));
  }
  for (const Buffer& buffer : kernel.buffers) BufferChecker(kernel, buffer).check();
  names_differ(kernel);
  global_memory_fits(kernel);
  registers_fit(kernel);
}

void place_shared(Kernel& kernel) {
  struct Taken {
    std::int64_t begin, end;
  };
  std::vector<Taken> fixed;
  for (const Buffer& buffer : kernel.buffers) {
    if (buffer.space == Space::shared && buffer.offset) fixed.push_back({*buffer.offset, *buffer.offset + byte_size(buffer)});
  }
  const auto aligned = [](std::int64_t offset) { return ceil_div(offset, shared_alignment) * shared_alignment; };
  std::int64_t next = 0;
  for (Buffer& buffer : kernel.buffers) {
    if (buffer.space != Space::shared || buffer.offset) continue;
    const std::int64_t bytes = byte_size(buffer);
    for (bool moved = true; moved;) {
      moved = false;
      for (const Taken& taken : fixed) {
        if (next >= taken.end || next + bytes <= taken.begin) continue;
        next = aligned(taken.end);
        moved = true;
      }
    }
    if (bytes > shared_window - next) {
      input_error(kernel.files, buffer.at, fmt::format("buffer {}: its {} bytes at offset {} do not fit into the {} bytes of shared memory of a CTA",
                                                       buffer.name, bytes, next, shared_window));
    }
    buffer.offset = next;
    next = aligned(next + bytes);
  }
}

}  // namespace tmemsim::verifier
