// Package intest runs the tests that an object carries inside itself. It needs no configuration:
// section names declare the tests.
//
// A staged test has up to three programs, TYPE/test/NAME/pktgen, TYPE/test/NAME/setup and
// TYPE/test/NAME/check, which pass a packet and its context from one to the next. The outcome is
// the check's return value and an optional report in the map suite_result_map. Large datapaths use
// this convention. A plain test is one program in a section TYPE/test/NAME. It returns 0, or the
// number of the line that failed.
//
// The package knows the convention, the report and its log formats, but neither command lines nor
// rendering. Start from [Discover] and [Open].
package intest
