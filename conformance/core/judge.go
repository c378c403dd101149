package core

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/loader"
)

// judge relocates the object for the target and compares every line.
func (g *group) judge(objects *objectFinder, target *loader.Target) {
	obj, err := objects.open(g.object)
	if err != nil {
		g.fail("object: %v", err)
		return
	}
	// Include programs that libbpf does not load automatically: expectations may come from loaders
	// that do.
	linked, err := obj.Load(target, loader.LoadOptions{AnyByteOrder: true, LinkOnly: true})
	if err != nil {
		g.fail("%v", err)
		return
	}
	functions := map[string]*loader.LinkedFunction{}
	for _, f := range linked.Functions {
		if functions[f.Name] == nil || !f.Skipped {
			functions[f.Name] = f
		}
	}
	g.verdicts = make([]verdict, len(g.lines))
	for i := range g.lines {
		g.verdicts[i] = judgeLine(linked, functions, &g.lines[i])
	}
}

func judgeLine(l *loader.Linked, functions map[string]*loader.LinkedFunction, want *Line) verdict {
	differs := func(format string, args ...any) verdict {
		return verdict{difference: fmt.Sprintf(format, args...)}
	}
	if want.Status != nil {
		return verdict{}
	}
	if want.Program == "" { // of the whole object
		if failed := l.Err != nil; failed != (want.Result == "error") {
			return differs("the object gives %v, want %s", l.Err, want.Result)
		}
		return verdict{}
	}
	f := functions[want.Program]
	if f == nil {
		return differs("the object has no such function")
	}
	if want.Core != "" {
		if got := f.Core(); got != want.Core {
			return differs("%s, want %s", got, want.Core)
		}
		return verdict{}
	}
	found := find(l, f, want)
	if len(found) == 0 {
		return differs("no such relocation")
	}
	var first verdict
	for i, r := range found {
		v := compare(r, want)
		if v == (verdict{}) {
			return v
		}
		if i == 0 {
			first = v
		}
	}
	return first
}

// find returns the relocations that a line may describe: by the record's index, else by the
// instruction, else by the access.
func find(l *loader.Linked, f *loader.LinkedFunction, want *Line) []*loader.Reloc {
	byNumber := recordOf(l, f, want)
	var out []*loader.Reloc
	for i := range f.Relocs {
		r := &f.Relocs[i]
		switch {
		case want.Kind != "" && r.Kind.String() != want.Kind:
			continue
		case byNumber != nil:
			if r.Record != *byNumber {
				continue
			}
		case want.Insn != nil && *want.Insn >= 0:
			// libbpf logs the second slot of a poisoned LD_IMM64 first.
			if *want.Insn != r.FuncInsn && (want.Result != "poison" || r.Patch.Slots != 2 || *want.Insn != r.FuncInsn+1) {
				continue
			}
		default:
			if text := r.Local.String(); !sameSpec(text, want.Spec) && !sameSpec(text, want.Local) {
				continue
			}
		}
		out = append(out, r)
	}
	return out
}

// sameSpec compares accesses in libbpf's notation, ignoring a leading kind.
func sameSpec(have, want string) bool {
	if want == "" {
		return false
	}
	_, bare, _ := strings.Cut(have, "> ")
	return have == want || bare == want
}

// recordOf returns the record with the line's index in the section of its function, or nil if the
// line has none.
func recordOf(l *loader.Linked, f *loader.LinkedFunction, want *Line) *corerelo.Record {
	if want.Relo == nil || l.Object.Ext == nil {
		return nil
	}
	for _, sec := range l.Object.Ext.CORE {
		if sec.Name == f.Section && *want.Relo >= 0 && *want.Relo < len(sec.Records) {
			r := sec.Records[*want.Relo]
			return &corerelo.Record{InsnOff: r.InsnOff, TypeID: r.TypeID, Access: r.Access, Kind: corerelo.Kind(r.Kind)}
		}
	}
	return nil
}

func compare(r *loader.Reloc, want *Line) verdict {
	got := resultOf(r)
	differs := func(format string, args ...any) verdict {
		if text := deliberate(r); text != "" {
			return verdict{deliberate: text}
		}
		return verdict{difference: fmt.Sprintf(format, args...)}
	}
	if got != want.Result {
		if r.Err != nil {
			return differs("%s (%v), want %s", got, r.Err, want.Result)
		}
		return differs("%s, want %s", got, want.Result)
	}
	if got != "ok" {
		return verdict{}
	}
	for _, x := range []struct {
		what string
		want json.RawMessage
		got  []uint64
	}{{"old", want.Old, []uint64{r.Patch.Old}}, {"new", want.New, []uint64{r.Patch.New, r.Result.New}}} {
		v, ok, err := number(x.want)
		if err != nil {
			return differs("%s: %v", x.what, err)
		}
		if ok && !sameNumber(v, x.got, r.Patch.Field) {
			return differs("%s value %s, want %s", x.what, signed(x.got[0]), signed(v))
		}
	}
	if size := memSize(r); want.MemSize != "" && size != want.MemSize {
		return differs("memory size %q, want %q", size, want.MemSize)
	}
	return verdict{}
}

func resultOf(r *loader.Reloc) string {
	switch {
	case r.Err != nil:
		return "error"
	case r.Poisoned():
		return "poison"
	}
	return "ok"
}

func memSize(r *loader.Reloc) string {
	if r.Patch.OldSize == r.Patch.NewSize {
		return ""
	}
	return fmt.Sprintf("%d>%d", r.Patch.OldSize, r.Patch.NewSize)
}

// sameNumber compares values; a 32-bit immediate may be written without its sign.
func sameNumber(want uint64, got []uint64, field corerelo.Field) bool {
	for _, v := range got {
		if want == v || field == corerelo.FieldImm && want == uint64(uint32(v)) {
			return true
		}
	}
	return false
}

// deliberate returns the rule by which this engine deliberately differs from libbpf, or "".
func deliberate(r *loader.Reloc) string {
	if r.Kind == corerelo.FieldLShiftU64 && r.Local.BTF.ByteOrder() == binary.ByteOrder(binary.BigEndian) {
		return "bitfield shifts follow the object's byte order, libbpf's that of the machine it runs on"
	}
	if r.Kind != corerelo.EnumvalValue {
		return ""
	}
	for _, v := range []uint64{r.Result.Orig, r.Result.New} {
		if v >= 1<<31 && v < 1<<32 || r.Result.SignUnknown {
			return "an unsigned enumerator of 2^31 or more keeps its value, libbpf takes it for negative"
		}
	}
	return ""
}

func signed(v uint64) string {
	if int64(v) < 0 {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatUint(v, 10)
}

// number parses a number in JSON: decimal of either sign, or a string with 0x. ok is false for null
// and for an absent value.
func number(raw json.RawMessage) (v uint64, ok bool, err error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return 0, false, nil
	}
	text := strings.Trim(string(raw), `"`)
	if v, err = strconv.ParseUint(text, 0, 64); err == nil {
		return v, true, nil
	}
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		return 0, false, fmt.Errorf("%s is not a number", raw)
	}
	return uint64(n), true, nil
}
