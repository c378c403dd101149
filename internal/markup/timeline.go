package markup

import (
	_ "embed"
	"strings"
)

// Style and script of timelines, for pages of reports and for the playground. The script is a
// module; TimelineScript is the same as a classic script, for all timelines of a page.
var (
	//go:embed timeline.css
	TimelineCSS string
	//go:embed timeline.js
	TimelineModule string
)

// TimelineMark is in the markup of each timeline, and in no text of a page.
const TimelineMark HTML = `<div class="view" role="img"`

// TimelineScript returns the script for a page with timelines: each has its view, and beside it the
// place of its controls.
func TimelineScript() string {
	return "(function () {\n" + strings.Replace(TimelineModule, "export function", "function", 1) +
		"for (const view of document.querySelectorAll('.view')) zoomable(view, view.parentElement.querySelector('.zoom'));\n})();\n"
}
