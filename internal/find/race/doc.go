// Package race runs programs of a machine against each other and finds orders in which their
// outcome is one that no sequential order has.
//
// It knows which accesses programs share, what they touch, and what makes an outcome wrong. It does
// not know in which order to try them (package internal/find/race/order), how a program runs
// (machine), or how a finding is shown.
//
// Start with [Config] and [Run] for one set of actors, and [Meetings] for those of an object.
package race
