package conformance

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	stdmaps "maps"
	"math/big"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// caseJudge collects the differences between the outcome of a case and its record.
type caseJudge struct {
	c     *Case
	file  *CaseFile
	skip  map[string]bool
	diffs []string
}

// skipped returns the set of keys to leave out of the comparison. The kind of a key may be singular
// or plural.
func skipped(keys []string) map[string]bool {
	m := map[string]bool{}
	for _, k := range keys {
		kind, name, named := strings.Cut(k, ":")
		kind = strings.TrimSuffix(kind, "s")
		if named {
			kind += ":" + name
		}
		m[kind] = true
	}
	return m
}

// skips reports whether a result, or every result of its kind, depends on the recording machine.
func (j *caseJudge) skips(kind, name string) bool { return j.skip[kind] || j.skip[kind+":"+name] }

func (j *caseJudge) diff(format string, args ...any) {
	j.diffs = append(j.diffs, fmt.Sprintf(format, args...))
}

// run compares one run. err is the error of the system call, or the reason why the program cannot
// run here.
func (j *caseJudge) run(i int, res *machine.Result, err error, want *RunExpect) {
	where := "run " + fmt.Sprint(i)
	if len(j.c.Runs) == 1 {
		where = "run"
	}
	var errno uapi.Errno
	switch {
	case err != nil && (!errors.As(err, &errno) || res != nil):
		j.diff("%s: %v", where, err)
		return
	case errno != uapi.Errno(want.Errno):
		j.diff("%s: errno: want %s, got %s", where, errnoText(uapi.Errno(want.Errno)), errnoText(errno))
		return
	case errno != 0:
		return
	case !res.Ran:
		j.diff("%s: %s", where, res.Status)
		return
	case res.Fault != nil:
		j.diff("%s: fault: %s", where, faultText(res.Fault))
		return
	}
	if want.Ret != nil && uint32(res.Ret) != *want.Ret && !j.skips("ret", fmt.Sprint(i)) {
		j.diff("%s: ret: want %d, got %d", where, int32(*want.Ret), int32(uint32(res.Ret)))
	}
	if want.DataOut != nil && !bytes.Equal(*want.DataOut, res.DataOut) && !j.skips("data_out", fmt.Sprint(i)) {
		j.diff("%s: data_out: %s", where, bytesDiff(*want.DataOut, res.DataOut))
	}
	if want.CtxOut != nil && !bytes.Equal(*want.CtxOut, res.CtxOut) && !j.skips("ctx_out", fmt.Sprint(i)) {
		j.diff("%s: ctx_out: %s", where, bytesDiff(*want.CtxOut, res.CtxOut))
	}
}

func errnoText(e uapi.Errno) string {
	if e == 0 {
		return "success"
	}
	return e.Error()
}

func faultText(f *machine.Fault) string {
	text := f.Error()
	if f.Text != "" {
		text += " at " + f.Text
	}
	if f.Source != "" {
		text += " (" + f.Source + ")"
	}
	return text
}

// bytesDiff describes the difference between two byte strings.
func bytesDiff(want, got []byte) string {
	if len(want) != len(got) {
		return fmt.Sprintf("want %d bytes %s, got %d bytes %s", len(want), shortHex(want), len(got), shortHex(got))
	}
	for i := range want {
		if want[i] != got[i] {
			end := min(i+8, len(want))
			return fmt.Sprintf("at byte %d: want %x, got %x", i, want[i:end], got[i:end])
		}
	}
	return "equal"
}

// shortHex formats at most 64 bytes in hex.
func shortHex(b []byte) string {
	const most = 64
	if len(b) <= most {
		return fmt.Sprintf("%x", b)
	}
	return fmt.Sprintf("%x...", b[:most])
}

// state compares the state that outlives the runs.
func (j *caseJudge) state(o *outcome) {
	j.checks(o.m)
	for _, name := range slices.Sorted(stdmaps.Keys(j.c.Expect.Globals)) {
		if !j.skips("global", name) {
			j.global(o.m, name, j.c.Expect.Globals[name])
		}
	}
	for _, name := range slices.Sorted(stdmaps.Keys(j.c.Expect.Maps)) {
		if !j.skips("map", name) {
			j.contents(o.m, name, j.c.Expect.Maps[name])
		}
	}
	for _, name := range slices.Sorted(stdmaps.Keys(j.c.Expect.Ringbuf)) {
		if !j.skips("ringbuf", name) {
			j.records("ringbuf", name, j.c.Expect.Ringbuf[name], o.ringbuf[name], HexBytes.same)
		}
	}
	for _, name := range slices.Sorted(stdmaps.Keys(j.c.Expect.Perf)) {
		if !j.skips("perf", name) {
			j.records("perf", name, j.c.Expect.Perf[name], o.perf[name], HexBytes.samePadded)
		}
	}
	if j.c.Expect.Trace != nil && !j.skips("trace", "") {
		if !slices.Equal(j.c.Expect.Trace, o.trace) {
			j.diff("trace: want %q, got %q", j.c.Expect.Trace, o.trace)
		}
	}
}

// checkArray is the global array that holds the results of checks.
const checkArray = "R"

// unexecuted is the initial value of the elements of R, which marks checks that were not executed.
var unexecuted = bytes.Repeat([]byte{0x5a}, 8)

// checks compares the elements of R, by the names of their checks.
func (j *caseJudge) checks(m *machine.Machine) {
	if len(j.c.Expect.Checks) == 0 && j.c.Globals[checkArray] == "" {
		return
	}
	r, err := m.ReadVariable(checkArray)
	if err != nil {
		j.diff("checks: %v", err)
		return
	}
	for name := range j.c.Expect.Checks {
		if !slices.Contains(j.file.CheckNames, name) {
			j.diff("check %q is not among check_names", name)
		}
	}
	order := m.Memory().ByteOrder()
	got := map[string]int64{}
	for i, name := range j.file.CheckNames {
		if 8*i+8 > len(r) {
			break
		}
		// Several checks may share a name; the record holds the last one executed.
		if raw := r[8*i : 8*i+8]; !bytes.Equal(raw, unexecuted) {
			got[name] = int64(order.Uint64(raw))
		}
	}
	for _, name := range slices.Sorted(stdmaps.Keys(j.c.Expect.Checks)) {
		want := j.c.Expect.Checks[name]
		v, executed := got[name]
		switch {
		case j.skips("check", name) || j.skip[name]:
		case !executed:
			j.diff("check %q: want %d, was not executed", name, want)
		case v != want:
			j.diff("check %q: want %d, got %d", name, want, v)
		}
	}
	for _, name := range slices.Sorted(stdmaps.Keys(got)) {
		if _, judged := j.c.Expect.Checks[name]; !judged && !j.skips("check", name) && !j.skip[name] {
			j.diff("check %q: the kernel did not execute it, got %d", name, got[name])
		}
	}
}

// global compares a global variable.
func (j *caseJudge) global(m *machine.Machine, name string, want GlobalWant) {
	got, err := m.ReadVariable(name)
	if err != nil {
		j.diff("global %s: %v", name, err)
		return
	}
	order := m.Memory().ByteOrder()
	switch {
	case want.Bytes != nil:
		wanted := bytes.Clone(want.Bytes)
		if def, v, ok := machine.Variable(m.Linked(), name); ok && len(wanted) == len(got) {
			if b, ok := m.MapByName(def.Name); ok {
				for _, f := range listHeads(b.Spec()) {
					if at := int64(f.Off) - int64(v.Off); at >= 0 && at+int64(f.Size) <= int64(len(got)) {
						clear(wanted[at : at+int64(f.Size)])
						clear(got[at : at+int64(f.Size)])
					}
				}
			}
		}
		if !bytes.Equal(wanted, got) {
			j.diff("global %s: %s", name, bytesDiff(wanted, got))
		}
	case want.Number != nil:
		if !sameNumber(*want.Number, got, order) {
			j.diff("global %s: want %s, got %s", name, *want.Number, numberText(got, order))
		}
	default:
		n := elementSize(m, name, len(got), len(want.List))
		if n == 0 || len(want.List)*n > len(got) {
			j.diff("global %s: want %d numbers, it has %d bytes", name, len(want.List), len(got))
			return
		}
		for i, w := range want.List {
			if e := got[i*n : i*n+n]; !sameNumber(w, e, order) {
				j.diff("global %s[%d]: want %s, got %s", name, i, w, numberText(e, order))
			}
		}
	}
}

// elementSize returns the size of the elements of an array variable in bytes, from its type, or
// else from its size and count.
func elementSize(m *machine.Machine, name string, size, count int) int {
	spec := m.Linked().Object.BTF
	if _, v, ok := machine.Variable(m.Linked(), name); ok && spec != nil && v.Type != 0 {
		t := spec.SkipMods(v.Type)
		for t.Kind == btf.KindArray {
			t = spec.SkipMods(t.Ref)
		}
		if n, err := spec.Sizeof(t.ID); err == nil && n > 0 && n <= 8 {
			return int(n)
		}
	}
	if count == 0 || size%count != 0 {
		return 0
	}
	return size / count
}

// sameNumber compares a number with the bytes of an integer of either signedness.
func sameNumber(want json.Number, got []byte, order binary.ByteOrder) bool {
	n, ok := new(big.Int).SetString(want.String(), 10)
	if !ok || len(got) > 8 {
		return false
	}
	v := new(big.Int).SetUint64(endian.Uint(order, got))
	if n.Sign() < 0 {
		n.Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(got))))
	}
	return n.Cmp(v) == 0
}

func numberText(b []byte, order binary.ByteOrder) string {
	if len(b) > 8 {
		return shortHex(b)
	}
	return fmt.Sprint(endian.Uint(order, b))
}

// contents compares the elements of a map: by key, or in pop order if the map has no keys.
func (j *caseJudge) contents(m *machine.Machine, name string, want []MapWant) {
	b, ok := m.MapByName(name)
	if !ok {
		j.diff("map %s: there is none", name)
		return
	}
	got := b.Entries()
	want = withoutListHeads(b.Spec(), want, got)
	if b.Spec().KeySize == 0 {
		j.elements(name, want, got)
		return
	}
	have := map[string]maps.Entry{}
	for _, e := range got {
		have[string(e.Key)] = e
	}
	for _, w := range want {
		e, ok := have[string(w.Key)]
		delete(have, string(w.Key))
		if !ok {
			if !w.zero() {
				j.diff("map %s[%s]: want %s, it is not there", name, w.Key, w.text())
			}
			continue
		}
		j.element(name+"["+w.Key.String()+"]", &w, &e)
	}
	for _, e := range got {
		if _, extra := have[string(e.Key)]; extra && e.Ref == nil {
			j.diff("map %s[%x]: want nothing, got %s", name, e.Key, entryText(&e))
		}
	}
}

// listHeads returns the list heads in a map's values. What user space reads from them are addresses
// in a temporary kernel buffer (check_and_init_map_value), so they are not compared.
func listHeads(spec *maps.Spec) []maps.Special {
	fields, err := maps.FieldSpecials(spec, 0) // the same on all versions that have lists
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(fields, func(f maps.Special) bool { return f.Kind != maps.ListHead })
}

// withoutListHeads zeroes the list heads of want and got. It returns the changed want.
func withoutListHeads(spec *maps.Spec, want []MapWant, got []maps.Entry) []MapWant {
	fields := listHeads(spec)
	if len(fields) == 0 {
		return want
	}
	masked := func(v []byte) []byte {
		v = bytes.Clone(v)
		for _, f := range fields {
			if end := f.Off + f.Size; uint64(end) <= uint64(len(v)) {
				clear(v[f.Off:end])
			}
		}
		return v
	}
	out := slices.Clone(want)
	for i := range out {
		out[i].Value = masked(out[i].Value)
	}
	for i := range got {
		got[i].Value = masked(got[i].Value)
	}
	return out
}

func (j *caseJudge) elements(name string, want []MapWant, got []maps.Entry) {
	if len(want) != len(got) {
		j.diff("map %s: want %d elements, got %d", name, len(want), len(got))
		return
	}
	for i := range want {
		j.element(fmt.Sprintf("%s[%d]", name, i), &want[i], &got[i])
	}
}

func (j *caseJudge) element(where string, want *MapWant, got *maps.Entry) {
	same := bytes.Equal(want.Value, got.Value)
	if want.PerCPU != nil {
		same = len(want.PerCPU) == len(got.PerCPU)
		for i := 0; same && i < len(want.PerCPU); i++ {
			same = bytes.Equal(want.PerCPU[i], got.PerCPU[i])
		}
	}
	if !same {
		j.diff("map %s: want %s, got %s", where, want.text(), entryText(got))
	}
}

func (w *MapWant) zero() bool {
	for _, v := range append([]HexBytes{w.Value}, w.PerCPU...) {
		if len(bytes.Trim(v, "\x00")) > 0 {
			return false
		}
	}
	return true
}

func (w *MapWant) text() string {
	if w.PerCPU != nil {
		return fmt.Sprint(w.PerCPU)
	}
	return shortHex(w.Value)
}

func entryText(e *maps.Entry) string {
	if e.PerCPU == nil {
		return shortHex(e.Value)
	}
	out := make([]HexBytes, len(e.PerCPU))
	for i, v := range e.PerCPU {
		out[i] = v
	}
	return fmt.Sprint(out)
}

// same reports whether two ring buffer records are equal.
func (h HexBytes) same(got HexBytes) bool { return bytes.Equal(h, got) }

// samePadded reports whether two perf buffer records are equal. The kernel pads them so that size
// and data together are a multiple of eight bytes (kernel/events/core.c perf_sample_save_raw_data);
// the contents of the padding are unspecified.
func (h HexBytes) samePadded(got HexBytes) bool {
	padded := (len(got)+4+7)&^7 - 4
	return bytes.Equal(h, got) || len(h) == padded && bytes.HasPrefix(h, got)
}

func (j *caseJudge) records(kind, name string, want, got []HexBytes, same func(w, g HexBytes) bool) {
	if len(want) != len(got) {
		j.diff("%s %s: want %d records, got %d", kind, name, len(want), len(got))
		return
	}
	for i := range want {
		if !same(want[i], got[i]) {
			j.diff("%s %s[%d]: %s", kind, name, i, bytesDiff(want[i], got[i]))
		}
	}
}
