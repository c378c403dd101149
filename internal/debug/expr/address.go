package expr

import (
	"fmt"
)

// ArgText formats an argument: the name of its target, or a number.
func (pr *Printer) ArgText(v uint64) string {
	if name := pr.AddressName(v); name != "" {
		return name
	}
	if n := int64(v); n > -4096 && n < 1<<20 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%#x", v)
}

// AddressText formats an address with the name of its target.
func (pr *Printer) AddressText(addr uint64) string {
	text := fmt.Sprintf("%#x", addr)
	if name := pr.AddressName(addr); name != "" {
		text += " <" + name + ">"
	}
	return text
}

// AddressName returns the name of an address: an instruction, a stack slot, or a named address of
// the machine.
func (pr *Printer) AddressName(addr uint64) string {
	if name := pr.Code.NameOf(addr); name != "" {
		return name
	}
	if text, ok := pr.stackName(addr); ok {
		return text
	}
	if n, ok := pr.m.NameAddr(addr); ok {
		return n.Text
	}
	return ""
}

// stackName names an address in the stack of an activation: "r10-16", with the frame number for
// callers.
func (pr *Printer) stackName(addr uint64) (string, bool) {
	if pr.Now.Idle() {
		return "", false
	}
	for i, f := range pr.m.Thread().Frames() {
		if f.Stack == nil || addr != f.FP && !f.Stack.Contains(addr) {
			continue
		}
		text := "r10"
		if d := int64(addr - f.FP); d != 0 {
			text += fmt.Sprintf("%+d", d)
		}
		if i > 0 {
			text += fmt.Sprintf(" of frame %d", i)
		}
		return text, true
	}
	return "", false
}
