// Package report renders what runs, relocations and objects turned out to be: as
// tables for people and as the JSON documents scripts rely on.
//
// It decides nothing about programs; it formats the results of package machine
// and the facts of package loader. Start from [NewRunDocument] and [WriteTable].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package report
