#include "report/xml_text.hpp"

namespace tmemsim::report {

std::string xml_text(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      case '\n': safe += "&#10;"; break;
      case '\t': safe += "&#9;"; break;
      default: safe += static_cast<unsigned char>(c) < 0x20 ? '?' : c;  // XML has no other control characters
    }
  }
  return safe;
}

}  // namespace tmemsim::report
