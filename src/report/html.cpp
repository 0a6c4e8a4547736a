// A conversion as one page: the data, and a viewer around it (viewer/).
#include <string>

#include "flambeau/report.h"

namespace flambeau {
namespace {

constexpr char kPage[] = {
#include "report/viewer_page.inc"
};
constexpr std::string_view kPlace = "/*REPORT*/null";

}  // namespace

std::string ReportHtml(const ConversionReport& report) {
  const std::string_view page(kPage, sizeof(kPage));
  const size_t place = page.find(kPlace);
  std::string html(page.substr(0, place));
  html += ReportJson(report);
  html += page.substr(place + kPlace.size());
  return html;
}

}  // namespace flambeau
