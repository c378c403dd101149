// Package intest runs the tests an object carries inside itself. It needs no configuration: section names say what is a test.
//
// A staged test is up to three programs, TYPE/test/NAME/pktgen, TYPE/test/NAME/setup and TYPE/test/NAME/check, which hand a packet
// and its context from one to the next; the check's return value and a report it may write into the map suite_result_map say what
// became of it. This is the convention of large datapaths. A plain test is one program in a section TYPE/test/NAME that returns 0,
// or the number of the line that failed.
//
// The package knows the convention, the report and its log formats; it does not know command lines or rendering.
// Start from [Discover] and [Open].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package intest
