package record

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/conformance"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// syscallContext is the size of the context for syscall programs whose case has none, in bytes.
const syscallContext = 64

// Cases runs the cases of a plan on the running kernel, which target describes, and fills in the
// results.
func Cases(ctx context.Context, obj *loader.Object, target *loader.Target, file *conformance.CaseFile) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, first unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	first.Set(0)
	if err := unix.SchedSetaffinity(0, &first); err != nil {
		return err
	}
	defer unix.SchedSetaffinity(0, &before)
	file.Kernel = Release()
	opts := loader.LoadOptions{}
	for _, p := range obj.Programs {
		opts.Only = append(opts.Only, p.Name) // including those in sections that begin with ?
	}
	linked, err := obj.Load(target, opts)
	if err != nil {
		return err
	}
	fds, err := openSockets()
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	if err != nil {
		return fmt.Errorf("sockets of the loopback device, which programs look for among the recorder's files: %w", err)
	}
	r := &recorder{file: file, linked: linked}
	if obj.BTF != nil {
		if r.types, err = obj.KernelBTF(); err != nil {
			return err
		}
	}
	// Without tracefs, no trace lines are recorded.
	r.trace, _ = openTracer()
	defer r.trace.close()
	for i := range file.Cases {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := &file.Cases[i]
		if err := r.record(c); err != nil {
			return fmt.Errorf("%s: case %s: %w", obj.Name, c.Name, err)
		}
	}
	return nil
}

// recorder records the cases of one object.
type recorder struct {
	file   *conformance.CaseFile
	linked *loader.Linked
	types  []byte
	trace  *tracer
}

func (r *recorder) record(c *conformance.Case) error {
	k, err := newInstance(r.linked, r.types)
	if err != nil {
		return err
	}
	defer k.close()
	c.Expect = conformance.CaseExpect{}
	var refused *Refused
	if err := k.load(c.Runs); errors.As(err, &refused) {
		c.Expect.LoadError, c.Expect.VerifierLog = refused.Errno.Error(), refused.Log
		return nil
	} else if err != nil {
		return err
	}
	if err := k.setGlobals(c.Globals); err != nil {
		return err
	}
	for name, elems := range c.Maps {
		live, ok := k.mapNamed(name)
		if !ok {
			return fmt.Errorf("no map %q", name)
		}
		for _, e := range elems {
			if err := updateMap(live.fd, e.Key, e.Value); err != nil {
				return fmt.Errorf("element %s of map %s: %w", e.Key, name, err)
			}
		}
	}
	for _, s := range c.UserRingbuf {
		live, ok := k.mapNamed(s.Map)
		if !ok || live.Type != uapi.MapTypeUserRingbuf {
			return fmt.Errorf("no user ring buffer %q", s.Map)
		}
		if err := live.push(s.Sample); err != nil {
			return err
		}
	}
	if err := r.trace.clear(); err != nil {
		return err
	}
	for i := range c.Runs {
		out, err := r.run(k, &c.Runs[i])
		if err != nil {
			return err
		}
		c.Expect.Runs = append(c.Expect.Runs, *out)
	}
	time.Sleep(time.Duration(c.SettleMS) * time.Millisecond)
	return r.state(k, c)
}

func (k *instance) mapNamed(name string) (*liveMap, bool) {
	for _, m := range k.maps {
		if m.Name == name {
			return m, true
		}
	}
	return nil, false
}

// run executes one run of a case and returns its result. If BPF_PROG_TEST_RUN fails, the result is
// its errno.
func (r *recorder) run(k *instance, run *conformance.CaseRun) (*conformance.RunExpect, error) {
	p, _ := k.linked.Program(run.Prog)
	data, ctx := []byte(run.Data), bytes.Clone(run.Ctx)
	row := progtype.Of(p.Type)
	packet, context := row.Takes.Has(progtype.TakesPacket), row.Context.Layout == progtype.BytesLayout
	if context && len(ctx) == 0 {
		ctx = make([]byte, syscallContext)
	}
	if packet && len(data) == 0 {
		data = net.DefaultPacket()
	}
	if !packet {
		data = nil
	}
	asked := len(run.Ctx) > 0 && row.Context.Layout == progtype.StructLayout && row.Takes.Has(progtype.TakesBytes)
	var res *testRun
	var err error
	for range max(run.Repeat, 1) {
		res, err = runProgram(k.progs[run.Prog], data, ctx, 0, asked)
		var errno unix.Errno
		if errors.As(err, &errno) {
			return &conformance.RunExpect{Errno: conformance.CaseErrno(errno)}, nil
		}
		if err != nil {
			return nil, err
		}
	}
	out := &conformance.RunExpect{Ret: &res.ret}
	if packet {
		d := conformance.HexBytes(res.data)
		out.DataOut = &d
	}
	if context || asked {
		c := conformance.HexBytes(res.ctx)
		out.CtxOut = &c
	}
	return out, nil
}

// state records what remains after the runs: trace lines, maps and global variables.
func (r *recorder) state(k *instance, c *conformance.Case) error {
	var err error
	if c.Expect.Trace, err = r.trace.lines(); err != nil {
		return err
	}
	for _, m := range k.linked.Maps {
		live := k.maps[m]
		switch {
		case live == nil:
		case m.Type == uapi.MapTypeRingbuf:
			put(&c.Expect.Ringbuf, m.Name, live.records())
		case m.Type == uapi.MapTypePerfEventArray:
			var all []conformance.HexBytes
			for _, p := range live.perf {
				all = append(all, p.samples()...)
			}
			put(&c.Expect.Perf, m.Name, all)
		case m.DataKind == loader.DataData || m.DataKind == loader.DataBSS:
			if err := r.globals(live, c); err != nil {
				return err
			}
		case m.DataKind == loader.DataNone:
			entries, compared, err := live.contents(possibleCPUs())
			if err != nil {
				return fmt.Errorf("map %s: %w", m.Name, err)
			}
			if compared && (len(entries) > 0 || m.Type != uapi.MapTypeArray && m.Type != uapi.MapTypePercpuArray) {
				put(&c.Expect.Maps, m.Name, entries)
			}
		}
	}
	return nil
}

// put sets a key of a map, which it creates if it is nil. Empty lists are left out.
func put[T any](m *map[string][]T, name string, list []T) {
	if len(list) == 0 {
		return
	}
	if *m == nil {
		*m = map[string][]T{}
	}
	(*m)[name] = list
}

// globals records the variables of a data section: the elements of R as checks, and other variables
// if they changed.
func (r *recorder) globals(m *liveMap, c *conformance.Case) error {
	now := make([]byte, m.ValueSize)
	if err := element(cmdMapLookup, m.fd, slot(0), now, 0); err != nil {
		return fmt.Errorf("globals in %s: %w", m.Name, err)
	}
	spec := r.linked.Object.BTF
	for _, v := range m.Vars {
		value := now[v.Off : v.Off+v.Size]
		switch {
		case v.Name == checkArray:
			r.checks(value, c)
		case v.Static || special(spec, v.Type) || bytes.Equal(value, m.Data[v.Off:v.Off+v.Size]):
		default:
			if c.Expect.Globals == nil {
				c.Expect.Globals = map[string]conformance.GlobalWant{}
			}
			c.Expect.Globals[v.Name] = globalWant(spec, v, value)
		}
	}
	return nil
}

// special reports whether a variable is one of the kernel's own structs (bpf_spin_lock,
// bpf_list_head, ...), which contain addresses or are not visible to user space.
func special(spec *btf.Spec, id btf.ID) bool {
	t := spec.SkipMods(id)
	for t.Kind == btf.KindArray {
		t = spec.SkipMods(t.Ref)
	}
	return t.Kind == btf.KindStruct && strings.HasPrefix(t.Name, "bpf_")
}

// unexecuted is the initial value of the elements of R.
const unexecuted = 0x5a5a5a5a5a5a5a5a

func (r *recorder) checks(value []byte, c *conformance.Case) {
	for i, name := range r.file.CheckNames {
		if 8*i+8 > len(value) {
			return
		}
		if n := binary.NativeEndian.Uint64(value[8*i:]); n != unexecuted && name != "" {
			if c.Expect.Checks == nil {
				c.Expect.Checks = map[string]int64{}
			}
			c.Expect.Checks[name] = int64(n)
		}
	}
}

// globalWant returns a variable's value: a number if its type is an integer or enum, and else its
// bytes.
func globalWant(spec *btf.Spec, v loader.Var, value []byte) conformance.GlobalWant {
	t := spec.SkipMods(v.Type)
	if (t.Kind != btf.KindInt && !t.Kind.IsEnum()) || len(value) > 8 {
		return conformance.GlobalWant{Bytes: bytes.Clone(value)}
	}
	var full [8]byte
	copy(full[:], value)
	u := binary.LittleEndian.Uint64(full[:])
	text := strconv.FormatUint(u, 10)
	if t.Signed() {
		shift := 64 - 8*len(value)
		text = strconv.FormatInt(int64(u<<shift)>>shift, 10)
	}
	n := json.Number(text)
	return conformance.GlobalWant{Number: &n}
}
