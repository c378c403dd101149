package fuzz

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/find/search"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// What cgroup programs filter is input beside the fields of their contexts: the value of a socket
// option, and an access to a file of /proc/sys.

// Sysctl is an access to a file of /proc/sys. Its strings are lines of text.
type Sysctl struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// New is what is written, if Write is set.
	New   string `json:"new,omitempty"`
	Write bool   `json:"write,omitempty"`
}

// maxOption is the longest value of a socket option, in bytes: longer than what programs see.
const maxOption = uapi.PageSize + 512

// withOption gives an input of a machine the socket option of an event; false if it has none.
func (sp *runSpace) withOption(mi *machine.Input, e *Event) bool {
	if e.Option == nil || sp.option == nil {
		return false
	}
	o := *sp.option
	o.Value, o.Len = slices.Clone(e.Option), 0
	mi.Net.Sockopt = &o
	return true
}

// optionOf is a copy of the value of the socket option in an event.
func (sp *runSpace) optionOf(e *Event) []byte {
	if e.Option != nil {
		return slices.Clone(e.Option)
	}
	return slices.Clone(sp.option.Value)
}

// sysctlIn is the access that a context is of, nil if it is of none.
func sysctlIn(c *hook.Context) *Sysctl {
	s := c.Sysctl()
	if s == nil || !isLine(string(s.Value)) || !isLine(string(s.New)) {
		return nil
	}
	return &Sysctl{Name: s.Name, Value: string(s.Value), New: string(s.New), Write: s.Write}
}

// sysctlOf is a copy of the access in an event.
func (sp *runSpace) sysctlOf(e *Event) *Sysctl {
	s := *sp.sysctl
	if e.Sysctl != nil {
		s = *e.Sysctl
	}
	return &s
}

// access is the access as a machine takes it.
func (s *Sysctl) access() *hook.Sysctl {
	out := &hook.Sysctl{Name: s.Name, Value: []byte(s.Value), Write: s.Write}
	if s.Write {
		out.New = []byte(s.New)
	}
	return out
}

// isLine reports whether text is what people can read, with ends of lines.
func isLine(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return (c < 0x20 || c > 0x7e) && c != '\n' && c != '\t' })
}

// checkCall checks the option and the sysctl of an event that comes from outside.
func (sp *runSpace) checkCall(e *Event) error {
	switch s := e.Sysctl; {
	case e.Option != nil && sp.option == nil:
		return fmt.Errorf("the program filters no socket options")
	case s == nil:
		return nil
	case sp.sysctl == nil:
		return fmt.Errorf("the program filters no sysctls")
	case !isLine(s.Name) || !isLine(s.Value) || !isLine(s.New):
		return fmt.Errorf("the sysctl has characters that are not printable")
	}
	return e.Sysctl.access().Check()
}

// mutateOption changes the value of a socket option: its bytes, or its length.
func mutateOption(r *rand.Rand, v []byte, values []uint64) []byte {
	if r.IntN(4) != 0 && len(v) > 0 {
		for range 1 + r.IntN(3) {
			mutateBytes(r, v, values)
		}
		return v
	}
	return resized(v, []int{1, 2, 4, 5, 8, 16, 17, 64, 256, uapi.PageSize, uapi.PageSize + 1}[r.IntN(11)])
}

// resized returns bytes with another length.
func resized(v []byte, n int) []byte {
	for len(v) < n {
		v = append(v, 0)
	}
	return v[:n]
}

// sysctlNames are files of /proc/sys that programs ask for.
var sysctlNames = []string{
	"net/ipv4/ip_forward", "net/ipv4/tcp_mem", "net/ipv4/tcp_rmem", "net/ipv4/conf/all/forwarding", "net/ipv4/route/mtu_expires", "net/core/somaxconn",
	"kernel/hostname", "kernel/domainname", "kernel/core_pattern", "kernel/pid_max", "vm/overcommit_memory", "fs/file-max",
}

// mutateSysctl changes the direction of an access, its file, or a value.
func mutateSysctl(r *rand.Rand, s *Sysctl, values []uint64) *Sysctl {
	text := func(was string) string {
		if r.IntN(2) == 0 {
			return strconv.FormatUint(number(r, 0, values), 10) + "\n"
		}
		return mutateText(r, was, maxText)
	}
	switch r.IntN(5) {
	case 0:
		s.write(!s.Write)
	case 1:
		s.Name = sysctlNames[r.IntN(len(sysctlNames))]
	case 2:
		if name := mutateText(r, s.Name, maxText); name != "" && name[0] != '/' {
			s.Name = name
		}
	case 3:
		s.Value = text(s.Value)
	default:
		s.write(true)
		s.New = text(s.New)
	}
	return s
}

// write makes the access one that writes, or one that reads.
func (s *Sysctl) write(on bool) {
	if s.Write = on; on && s.New == "" {
		s.New = s.Value
	}
}

// inCall finds an operand in the socket option or the sysctl of the last run.
func (s *side) inCall(in *Input, w search.Wish) (spot, bool) {
	e := &in.Events[len(in.Events)-1]
	sp, c := s.f.space.runs[e.Run], s.watch.ctx
	switch {
	case c == nil:
	case sp.sysctl != nil:
		return sp.inSysctl(e, c, w)
	case sp.option != nil:
		return sp.inOption(e, c, w)
	}
	return spot{}, false
}

// inOption finds an operand in the value of a socket option, or its length.
func (sp *runSpace) inOption(e *Event, c *hook.Context, w search.Wish) (spot, bool) {
	if w.Kind != search.Memory {
		return spot{}, false
	}
	base, _ := c.Field("optval")
	if at := w.Addr - base; base != 0 && at < uint64(c.OptionRoom()) {
		return spot{part: Ctx, text: fmt.Sprintf("optval[%d:%d]", at, at+uint64(w.Size)), call: func(e *Event, bytes []byte) {
			v := sp.optionOf(e)
			e.Option = resized(v, max(len(v), int(at)+len(bytes)))
			copy(e.Option[at:], bytes)
		}}, true
	}
	name, _, _ := c.NameAt(w.Addr - c.Addr)
	n := int64(c.OptionRoom())
	switch name {
	case "optval": // where it begins, compared with its end
		n -= int64(w.Value) - int64(w.Was)
	case "optval_end":
		n += int64(w.Value) - int64(w.Was)
	case "optlen":
		n = int64(len(sp.optionOf(e))) + int64(int32(uint32(w.Value))) - int64(int32(uint32(w.Was)))
	default:
		return spot{}, false
	}
	if least := c.OptionLeast(); name != "optlen" && n < int64(least) {
		return spot{part: nowhere, fixed: true, text: fmt.Sprintf("room of less than %d bytes for a socket option, which the hook never gets", least)}, true
	}
	if n < 1 || n > maxOption {
		return spot{}, false
	}
	return spot{part: Ctx, fixed: true, text: fmt.Sprintf("a socket option of %d bytes", n), call: func(e *Event, _ []byte) {
		e.Option = resized(sp.optionOf(e), int(n))
	}}, true
}

// Helpers copy the texts of a sysctl, which are in no memory of the program. So that operands can
// be followed to them, each has a place at addresses where nothing is.
const (
	sysctlBase = 0x00f0_5c71_0000_0000
	sysctlRoom = 1 << 32 / 4
)

// sysctlText is one of the texts of a sysctl.
type sysctlText struct {
	name string // for people
	of   func(*Sysctl) *string
}

var sysctlTexts = []sysctlText{
	{"name of the sysctl", func(s *Sysctl) *string { return &s.Name }},
	{"value of the sysctl", func(s *Sysctl) *string { return &s.Value }},
	{"written value of the sysctl", func(s *Sysctl) *string { return &s.New }},
}

// sysctlReads has the helpers that copy a text to the address in r2, with its index in sysctlTexts.
var sysctlReads = map[uapi.FuncID]int{uapi.FuncSysctlGetName: 0, uapi.FuncSysctlGetCurrentValue: 1, uapi.FuncSysctlGetNewValue: 2}

// copiedSysctl says where a helper stored a text of a sysctl, with the byte after it.
func copiedSysctl(c *hook.Context, id uapi.FuncID, before *[11]uint64) (to, from, n uint64) {
	i, ok := sysctlReads[id]
	if !ok || c == nil || c.Sysctl() == nil {
		return 0, 0, 0
	}
	a := c.Sysctl()
	text := []string{a.Name, string(a.Value), string(a.New)}[i]
	from = sysctlBase + uint64(i)*sysctlRoom
	if i == 0 && before[4]&uapi.SysctlBaseName != 0 {
		skip := strings.LastIndexByte(text, '/') + 1
		from, text = from+uint64(skip), text[skip:]
	}
	return before[2], from, min(uint64(len(text))+1, before[3])
}

// readSysctl tells whether a helper returned the length of a text, and where a helper that reads
// digits stored the number. It implements search.Comparing.Read.
func (s *side) readSysctl(id uapi.FuncID, before, after *[11]uint64) (length bool, to, from uint64) {
	if c := s.watch.ctx; c == nil || c.Sysctl() == nil {
		return false, 0, 0
	}
	if _, ok := sysctlReads[id]; ok {
		return true, 0, 0
	}
	if (id == uapi.FuncStrtol || id == uapi.FuncStrtoul) && int64(after[0]) > 0 {
		return false, before[4], before[1]
	}
	return false, 0, 0
}

// inSysctl finds an operand in a text of a sysctl, its length, or a number in it.
func (sp *runSpace) inSysctl(e *Event, c *hook.Context, w search.Wish) (spot, bool) {
	change := func(do func(s *Sysctl)) func(e *Event, _ []byte) {
		return func(e *Event, _ []byte) {
			s := sp.sysctlOf(e)
			if do(s); isLine(s.Name) && isLine(s.Value) && isLine(s.New) && s.access().Check() == nil {
				e.Sysctl = s
			}
		}
	}
	if name, _, ok := c.NameAt(w.Addr - c.Addr); w.Kind == search.Memory && ok && name == "write" {
		return spot{part: Ctx, text: "write", call: change(func(s *Sysctl) { s.write(w.Value != 0) })}, true
	}
	for id, i := range sysctlReads {
		if w.Kind != search.Result || w.Helper != id.String() {
			continue
		}
		n := int64(w.Value)
		if was := int64(w.Was); was > 0 { // of a part of a name
			n += int64(len(*sysctlTexts[i].of(sp.sysctlOf(e)))) - was
		}
		if n < 1 || n > maxText {
			return spot{}, false
		}
		return spot{part: Ctx, fixed: true, text: fmt.Sprintf("a %s of %d bytes", sysctlTexts[i].name, n), call: change(func(s *Sysctl) {
			if i == 2 {
				s.write(true)
			}
			t := sysctlTexts[i].of(s)
			if int64(len(*t)) < n {
				*t += strings.Repeat("x", int(n)-len(*t))
			}
			*t = (*t)[:n]
		})}, true
	}
	off := w.Addr - sysctlBase
	if off >= uint64(len(sysctlTexts))*sysctlRoom {
		return spot{}, false
	}
	t, at := sysctlTexts[off/sysctlRoom], int(off%sysctlRoom)
	if w.Kind == search.Result {
		return spot{part: Ctx, text: "the number in the " + t.name, call: change(func(s *Sysctl) {
			text := *t.of(s)
			if at >= len(text) {
				return
			}
			rest := strings.TrimLeft(text[at:], " \t\n")
			digits := strings.TrimLeft(strings.TrimPrefix(rest, "-"), "0123456789")
			*t.of(s) = text[:at] + decimal(w) + digits
		})}, true
	}
	return spot{part: Ctx, text: fmt.Sprintf("%s[%d:%d]", t.name, at, at+w.Size), call: func(e *Event, bytes []byte) {
		change(func(s *Sysctl) {
			text := *t.of(s)
			if at > len(text) || at+len(bytes) > maxText {
				return
			}
			b := append([]byte(text[:at]), bytes...)
			if i := slices.Index(b[at:], 0); i >= 0 { // it ends there
				b = b[:at+i]
			} else if at+len(bytes) < len(text) {
				b = append(b, text[at+len(bytes):]...)
			}
			*t.of(s) = string(b)
		})(e, nil)
	}}, true
}

// decimal is the number that a wish asks for, as the helper reads it.
func decimal(w search.Wish) string {
	if w.Helper == uapi.FuncStrtol.String() || w.Value > math.MaxInt64 {
		return strconv.FormatInt(int64(w.Value), 10)
	}
	return strconv.FormatUint(w.Value, 10)
}

// call writes the socket option and the sysctl of an event, and returns the numbers that are left
// for arguments.
func (d *draft) call(n *grammar.Node, e *Event) []Number {
	sp := d.f.space.runs[e.Run]
	if s := e.Sysctl; s != nil && sp.sysctl != nil {
		o := &grammar.Node{Kind: grammar.Mapping}
		o.Put("name", grammar.Quote(s.Name))
		o.Put("value", grammar.Quote(s.Value))
		if s.Write {
			o.Put("new", grammar.Quote(s.New))
		}
		n.Child("context").Put("sysctl", o)
	}
	if e.Option == nil || sp.option == nil {
		return e.Args
	}
	rest := slices.Clone(e.Args)
	o := n.Child("context").Child("sockopt")
	for _, f := range []struct {
		name string
		v    int32
	}{{"level", sp.option.Level}, {"optname", sp.option.Name}, {"retval", sp.option.Retval}} {
		v := int32(uint32(valueIn(rest, f.name, uint64(uint32(f.v)))))
		rest = slices.DeleteFunc(rest, func(a Number) bool { return a.Name == f.name })
		if f.name != "retval" || v != 0 {
			o.Put(f.name, grammar.Word(strconv.Itoa(int(v))))
		}
	}
	o.Drop("optlen")
	value := grammar.Word(fmt.Sprintf("%x", []byte(e.Option)))
	value.Tag = "!hex"
	if isText(e.Option) {
		value = grammar.Quote(string(e.Option))
	}
	o.Put("optval", value)
	return rest
}
