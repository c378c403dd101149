// Package device runs the programs of HID devices as the kernel's HID core calls them: a device is
// connected, its descriptor fixed, reports arrive, user space asks for features. It knows the order
// of calls and what a loader does (udev-hid-bpf); what a call does to a report is
// internal/subsys/hid's.
//
// Start with [New], or with [Default] for a device that fits the object, and pass [Event]s to
// [HID.Do].
package device
