// Names and comments of a scenario as C++ text. A scenario is untrusted: nothing in it may end a comment, a string or a line.
#pragma once

#include <string>
#include <string_view>

#include "ir/buffer.hpp"

namespace tmemsim::emit {

// Names carry a prefix that tells what they are, so that none can be a keyword, a macro or a name of the emitted program:
// g_ global, s_ shared, r_ registers, t_ tensor memory, loop_ loop variable, kernel_ the kernel. Any character that is no
// letter, digit or underscore becomes an underscore (a scenario's own name may hold '-'; buffers and loops cannot).
std::string identifier(const Buffer& buffer);
std::string loop_identifier(std::string_view variable);
std::string kernel_identifier(std::string_view scenario);

// Letters, digits and underscores, at least one: what the name of a buffer must be, because it is also the name of a file.
bool is_plain_name(std::string_view name);

// `text` as it may stand behind "// ": one line, printable, no line continuation, no trigraph, no change of text direction.
std::string comment_text(std::string_view text);

// `text` as a C++ string literal, quotes included.
std::string string_literal(std::string_view text);

}  // namespace tmemsim::emit
