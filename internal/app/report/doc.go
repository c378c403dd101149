// Package report renders the results of runs, relocations and objects as text tables and as the
// JSON documents that scripts rely on.
//
// It makes no decisions about programs: it formats the results of package machine and the facts of
// package loader. Start from [NewRunDocument] and [WriteTable].
package report
