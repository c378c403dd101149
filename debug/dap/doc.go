// Package dap lets editors drive the debugger: it speaks the Debug Adapter Protocol with a client and carries out what that asks for
// with a debug.Session.
//
// It knows the protocol and package debug; how objects, kernels and scenarios become a session is its caller's ([Launcher]). Start from
// [Launcher.Serve].
//
// One goroutine reads messages and another carries them out, one at a time, so that a client can interrupt what runs. What waits is
// bounded in number and bytes, and a message in size; a variable reference lives until the program continues.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package dap
