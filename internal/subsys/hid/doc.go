// Package hid knows HID devices: report descriptors and the reports they declare, devices as kernel
// objects, the programs attached to them, and how the kernel's dispatcher (drivers/hid/bpf) passes
// one report from program to program. It does not run programs.
//
// Start with [Parse] for descriptors and [Bus] for devices. A [Walk] is one call of a hook: whoever
// runs the programs asks it which is next and tells it what that returned.
package hid
