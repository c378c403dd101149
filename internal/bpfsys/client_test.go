package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// task is a caller: memory from base on, and descriptors from 3 on.
type task struct {
	s    *bpfsys.System
	mem  []byte
	base uint64 // address of mem
	// interrupted means that a signal waits.
	interrupted bool
	// native makes the call at the host's kernel, in place of s.
	native      func(cmd uint32, addr uint64, size int) (int64, uapi.Errno)
	nativeClose func(fd int64)
	used        int
	files       map[int32]bpfsys.File
	next        int32
	notes       []string
	userNS      uint64
	netns       uint32
	caps        uint64
	full        bool // no descriptor is free for the calls of programs
}

const base = 0x10000

func (t *task) at(addr uint64, n int) []byte {
	if addr < t.base || addr-t.base > uint64(len(t.mem)) || uint64(n) > uint64(len(t.mem))-(addr-t.base) {
		return nil
	}
	return t.mem[addr-t.base : addr-t.base+uint64(n)]
}

func (t *task) Read(addr uint64, p []byte) bool {
	b := t.at(addr, len(p))
	copy(p, b)
	return b != nil || len(p) == 0
}

func (t *task) Write(addr uint64, p []byte) bool {
	b := t.at(addr, len(p))
	copy(b, p)
	return b != nil || len(p) == 0
}

func (t *task) Pin(addr uint64) (bpfsys.Page, bool) {
	p := taskPage{t, addr}
	return p, t.at(addr, uapi.PageSize) != nil
}

// taskPage is a page of a task's memory.
type taskPage struct {
	t    *task
	addr uint64
}

func (p taskPage) Read(b []byte) bool           { return p.t.Read(p.addr, b) }
func (p taskPage) Write(off int, b []byte) bool { return p.t.Write(p.addr+uint64(off), b) }
func (p taskPage) Close()                       {}

func (t *task) Interrupted() bool                        { return t.interrupted }
func (t *task) IsFile(p string) (bool, bool)             { return p == "/bin/sh", p == "/bin/sh" }
func (t *task) HasProcess(pid uint32) bool               { return pid == 1 }
func (t *task) File(fd int32) bpfsys.File                { return t.files[fd] }
func (t *task) Path(_ int32, p string) string            { return p }
func (t *task) FileOf(uint32, int32) (bpfsys.File, bool) { return bpfsys.File{}, false }
func (t *task) UserNS() (uint64, uint64)                 { return t.userNS, t.caps }
func (t *task) Netns() uint32                            { return t.netns }
func (t *task) Thread() (uint32, uint32, string)         { return 1, 1, "test" }

// put copies bytes into the task's memory and returns their address.
func (t *task) put(b []byte) uint64 {
	t.used = (t.used + 15) &^ 15
	copy(t.mem[t.used:], b)
	at := t.base + uint64(t.used)
	t.used += max(len(b), 1)
	return at
}

func (t *task) room(n int) uint64 { return t.put(make([]byte, n)) }

func (t *task) text(s string) uint64 { return t.put(append([]byte(s), 0)) }

// words is a sequence of fields of an attribute union: uint32 and uint64 values with their offsets.
type field struct {
	off int
	v   any
}

func union(fields ...field) []byte {
	b := make([]byte, 168)
	end := 0
	for _, f := range fields {
		switch v := f.v.(type) {
		case uint64:
			le.PutUint64(b[f.off:], v)
			end = max(end, f.off+8)
		case string:
			copy(b[f.off:], v)
			end = max(end, f.off+16)
		case int:
			le.PutUint32(b[f.off:], uint32(v))
			end = max(end, f.off+4)
		case int32:
			le.PutUint32(b[f.off:], uint32(v))
			end = max(end, f.off+4)
		default:
			panic(v)
		}
	}
	return b[:end]
}

// call makes a call and returns the value, which is a descriptor for new files, and the attributes
// after it.
func (t *task) call(cmd uint32, fields ...field) (int64, uapi.Errno, []byte) {
	a := union(fields...)
	addr := t.put(a)
	if t.native != nil {
		v, e := t.native(cmd, addr, len(a))
		return v, e, t.at(addr, len(a))
	}
	r := t.s.Call(t, cmd, addr, uint32(len(a)), 0, 0)
	if r.Note != "" {
		t.notes = append(t.notes, r.Note)
	}
	if r.File != nil {
		t.files[t.next] = *r.File
		r.Val = int64(t.next)
		t.next++
	}
	return r.Val, r.Errno, t.at(addr, len(a))
}

func (t *task) close(fd int64) {
	if t.native != nil {
		t.nativeClose(fd)
		return
	}
	f := t.files[int32(fd)]
	delete(t.files, int32(fd))
	if f.Object != nil {
		t.s.Release(f.Object)
	}
}

func newTask(t testing.TB) *task {
	t.Helper()
	spec, err := embedded.Spec()
	require.NoError(t, err)
	return newTaskOn(t, loader.NewTarget(embedded.Name, spec))
}

func newTaskOn(t testing.TB, target *loader.Target) *task {
	t.Helper()
	k := &task{mem: make([]byte, 1<<20), base: base, files: map[int32]bpfsys.File{}, next: 3}
	s, err := bpfsys.New(bpfsys.Config{Target: target, Machine: machine.Config{Uncovered: true, Unwatched: true}, Note: func(text string) { k.notes = append(k.notes, text) }})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	k.s = s
	return k
}
