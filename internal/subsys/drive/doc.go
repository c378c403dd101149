// Package drive has what the drivers of simulated subsystems share: finding what an object has of a
// kind, whether a kernel registers it and its programs can run, running them at the simulation's
// time, with timers and work items in between, and why it ends. Start from [Kind] and [New]. It
// does not know any subsystem: what its operations are called with, and when.
package drive
