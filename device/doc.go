// Package device runs the programs of HID devices as the kernel's HID core calls them: a device is connected, its descriptor fixed,
// reports arrive, user space asks for features. It knows the order of calls and what a loader does (udev-hid-bpf); what a call
// does to a report is kernel/hid's.
//
// Start with [New], or with [Default] for a device that fits the object, and pass [Event]s to [HID.Do].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package device
