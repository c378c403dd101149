package helpers

import "fmt"

// EventKind is a kind of effect outside the program.
type EventKind uint8

// The kinds of [Event], with the meaning of Event.Number.
const (
	Signal         EventKind = iota + 1 // the signal
	OverrideReturn                      // the return value
	Redirect                            // the index of an interface or map element
	CloneRedirect                       // the index of an interface
	TunnelKey                           // the tunnel's id
	SunPath                             // none
	SkAssign                            // none
	Bind                                // the port
	TCPOption                           // the option's kind
	SetSockopt                          // the option's name
	SysctlValue                         // none
	RCRepeat                            // none
	RCKeydown                           // the scan code
	RCPointer                           // none
	Message                             // bytes
	TCPAck                              // the sequence number acknowledged
	TaskSignal                          // the signal; Detail names the task
	StreamText                          // the stream (1 stdout, 2 stderr); Data is the text
	SysBPF                              // the result of bpf(2), 0 if it failed; Detail is what the call did
)

var eventKindNames = [...]string{
	Signal: "signal", OverrideReturn: "override-return", Redirect: "redirect", CloneRedirect: "clone-redirect", TunnelKey: "tunnel-key",
	SunPath: "sun-path", SkAssign: "sk-assign", Bind: "bind", TCPOption: "tcp-option", SetSockopt: "setsockopt", SysctlValue: "sysctl-value",
	RCRepeat: "rc-repeat", RCKeydown: "rc-keydown", RCPointer: "rc-pointer", Message: "message",
	TCPAck: "tcp-ack", TaskSignal: "task-signal", StreamText: "stream", SysBPF: "bpf",
}

// String returns the kind in lower case with hyphens: "override-return".
func (k EventKind) String() string {
	if int(k) < len(eventKindNames) && eventKindNames[k] != "" {
		return eventKindNames[k]
	}
	return fmt.Sprintf("effect(%d)", uint8(k))
}

// EventKinds lists the names of all kinds.
func EventKinds() []string { return eventKindNames[1:] }
