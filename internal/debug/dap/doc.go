// Package dap lets editors drive the debugger: it serves clients of the Debug Adapter Protocol and
// executes their requests with a debug.Session.
//
// It depends on the protocol and package debug; its caller turns objects, kernels and scenarios
// into a session ([Launcher]). Start from [Launcher.Serve].
//
// One goroutine reads messages and another executes them one at a time, so that a client can
// interrupt a running program. Pending requests are limited in number and bytes, and messages in
// size; a variable reference is valid until the program continues.
package dap
