// Text as the content or an attribute of an XML 1.0 document (JUnit reports).
#pragma once

#include <string>
#include <string_view>

namespace tmemsim::report {

// Line ends and tabs are kept as references; control characters that XML does not have become '?'.
std::string xml_text(std::string_view text);

}  // namespace tmemsim::report
