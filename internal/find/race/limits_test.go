package race

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/helpers/deferred"
	"github.com/bpfrun/bpfrun/internal/assembly"
	"github.com/bpfrun/bpfrun/internal/find/race/order"
	"github.com/bpfrun/bpfrun/internal/find/search"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// textMachine makes a machine for an assembly text.
func textMachine(t testing.TB, text string) *machine.Machine {
	t.Helper()
	data, err := assembly.Object("x.s", text, nil)
	require.NoError(t, err)
	o, err := loader.OpenBytes("x.o", data)
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	l, err := o.Load(loader.NewTarget("6.12", spec), loader.LoadOptions{})
	require.NoError(t, err)
	m, err := machine.New(l, machine.Config{Uncovered: true, Unwatched: true, Restores: true, MaxInsns: 1 << 20})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

// byName returns a map of a machine.
func byName(t testing.TB, m *machine.Machine, name string) maps.Map {
	t.Helper()
	b, ok := m.MapByName(name)
	require.True(t, ok)
	return b
}

// TestOwnMemoryMakesNoOrders: stores to the stack are no points at which others come in.
func TestOwnMemoryMakesNoOrders(t *testing.T) {
	const head = ".map a array 4 8 1\n.prog p tc\n*(u32 *)(r10 - 4) = 0\nr2 = r10\nr2 += -4\nr1 = map_fd(a)\ncall bpf_map_lookup_elem\nif r0 == 0 goto out\n"
	const tail = "r1 = *(u64 *)(r0 + 0)\nr1 += 1\n*(u64 *)(r0 + 0) = r1\nout:\nr0 = 0\nexit\n"
	const own = "*(u64 *)(r10 - 16) = 1\nr3 = *(u64 *)(r10 - 16)\nlock *(u64 *)(r10 - 16) += r3\n" +
		"r3 = r10\nr3 += -16\n*(u64 *)(r10 - 24) = r3\nr3 = *(u64 *)(r10 - 24)\n*(u64 *)(r3 + 0) = 1\nr4 = *(u64 *)(r3 + 0)\nlock *(u64 *)(r3 + 0) += r4\n"
	plain, err := Run(context.Background(), textMachine(t, head+tail), twice("p"), Config{Preemptions: 2})
	require.NoError(t, err)
	require.Len(t, plain.Findings, 1)
	for n := range 3 {
		r, err := Run(context.Background(), textMachine(t, head+strings.Repeat(own, n)+tail), twice("p"), Config{Preemptions: 2})
		require.NoError(t, err)
		assert.Equal(t, plain.Orders, r.Orders, n)
		require.Len(t, r.Findings, 1)
		assert.Len(t, r.Findings[0].Sides, len(plain.Findings[0].Sides))
	}
}

// TestOwnMemoryIsNoOutcome: what a program notes for itself alone is nothing that went wrong.
func TestOwnMemoryIsNoOutcome(t *testing.T) {
	const look = "*(u32 *)(r10 - 4) = 0\nr2 = r10\nr2 += -4\nr1 = map_fd(a)\ncall bpf_map_lookup_elem\nif r0 == 0 goto out\n"
	const write = ".prog w tc\n" + look + "*(u64 *)(r0 + 0) = 1\n*(u64 *)(r0 + 8) = 1\nout:\nr0 = 0\nexit\n"
	const own = "r3 = r10\nr3 += -32\n*(u64 *)(r10 - 40) = r3\nr3 = *(u64 *)(r10 - 40)\nr4 = *(u64 *)(r0 + 0)\n*(u64 *)(r3 + 0) = r4\nr4 = *(u64 *)(r0 + 8)\n*(u64 *)(r3 + 8) = r4\n"
	for tail, want := range map[string]int{"r0 = 0\nexit\n": 0, "r0 = *(u64 *)(r3 + 0)\nr0 -= r4\nexit\n": 1} {
		m := textMachine(t, ".map a array 4 16 1\n.prog r tc\n"+strings.ReplaceAll(look, "out", "end")+own+tail+"end:\nr0 = 0\nexit\n"+write)
		r, err := Run(context.Background(), m, []Actor{{Program: "r", Over: -1}, {Program: "w", Over: -1, Input: machine.Input{CPU: 1}}}, Config{Preemptions: 2})
		require.NoError(t, err)
		assert.Len(t, r.Findings, want, "%v", texts(r.Findings))
	}
}

// TestAdviceForCounts: what helps depends on what is read and written, on whether each CPU has its
// own, and on the release.
func TestAdviceForCounts(t *testing.T) {
	made := func(kind accessKind, addr uint64) event {
		return event{kind: kind, touches: []order.Touch{{Addr: addr, Size: 8, Write: kind != plainRead}}}
	}
	const atomic, perCPU, lock, level, decide = "__sync_fetch_and_add", "count per CPU", "bpf_spin_lock", "each level of nesting", "decide by what"
	for _, tt := range []struct {
		name         string
		release      uapi.Release
		write        uint64 // the address
		nested, own  bool
		torn         bool
		want, absent []string
	}{
		{name: "a count", release: uapi.R(6, 6), write: 8, want: []string{atomic, perCPU, lock, decide}, absent: []string{level}},
		{name: "before atomics that return", release: uapi.R(5, 11), write: 8, want: []string{atomic, perCPU, lock}, absent: []string{level, decide}},
		{name: "before locks", release: uapi.R(5, 0), write: 8, want: []string{atomic, perCPU}, absent: []string{lock, decide}},
		{name: "of each CPU", release: uapi.R(6, 6), write: 8, own: true, want: []string{atomic, decide}, absent: []string{perCPU, lock, level}},
		{name: "of each CPU, one in the other", release: uapi.R(6, 6), write: 8, own: true, nested: true, want: []string{level}, absent: []string{perCPU, lock, atomic}},
		{name: "shared, one in the other", release: uapi.R(6, 6), write: 8, nested: true, want: []string{atomic, perCPU, lock}, absent: []string{level}},
		{name: "another word", release: uapi.R(6, 6), write: 16, want: []string{lock}, absent: []string{atomic, perCPU}},
		{name: "torn", release: uapi.R(6, 6), write: 8, torn: true, want: []string{lock}, absent: []string{atomic, perCPU}},
	} {
		w := &watch{events: []event{made(plainRead, 8), made(plainWrite, tt.write)}}
		got := strings.Join(advise(uint32(tt.release)<<8, w, verdict{read: 0, late: -1, act: 1, torn: tt.torn}, tt.nested, tt.own), "\n")
		for _, s := range tt.want {
			assert.Contains(t, got, s, tt.name)
		}
		for _, s := range tt.absent {
			assert.NotContains(t, got, s, tt.name)
		}
	}
}

// TestWhoArmsCallbacks: their programs run before, but for those that are actors themselves.
func TestWhoArmsCallbacks(t *testing.T) {
	for _, tt := range []struct {
		name   string
		others []string
		want   int
	}{
		{"alone", nil, 1}, {"with its program", []string{"counts"}, 0}, {"with another program", []string{"repeat_resets"}, 1},
	} {
		m := machineOf(t, "testdata/clang-19/later.o", uapi.R(6, 12))
		c := Callback{"counts", "tick", deferred.Timer}
		for _, have := range Callbacks(m) {
			if have.Program == "counts" {
				c = have
			}
		}
		actors := []Actor{{Program: c.Program, Callback: &c, Over: -1}}
		for _, name := range tt.others {
			actors = append(actors, Actor{Program: name, Over: -1})
		}
		ok, err := Arm(context.Background(), m, actors)
		require.NoError(t, err)
		assert.True(t, ok, tt.name)
		assert.Len(t, armed(m, &c), tt.want, tt.name)
		ok, err = Arm(context.Background(), m, actors)
		require.NoError(t, err)
		assert.True(t, ok)
		assert.Len(t, armed(m, &c), tt.want, "%s: once is enough", tt.name)
	}
}

// TestWrittenMeetingsComeFirst, even if their programs share nothing.
func TestWrittenMeetingsComeFirst(t *testing.T) {
	m := textMachine(t, ".map a array 4 8 1\n.prog p tc\nr0 = 0\nexit\n.prog q tc\nr0 = 0\nexit\n")
	nothing := &deeds{reached: map[string]bool{}, changed: map[string]bool{}}
	p := &Prepared{reached: map[string]*deeds{"p": nothing, "q": nothing}}
	pair := func(name string, written bool, programs ...string) Meeting {
		x := Meeting{Name: name, Written: written}
		for _, prog := range programs {
			x.Actors = append(x.Actors, Actor{Program: prog, Over: -1})
		}
		return x
	}
	all := []Meeting{pair("nothing", false, "p", "q"), pair("unknown", false, "p", "r"), pair("three", false, "p", "q", "p"), pair("written", true, "p", "q")}
	p.Sort(all, m.Linked().Programs)
	var names []string
	for _, x := range all {
		names = append(names, x.Name)
	}
	assert.Equal(t, []string{"three", "written", "unknown", "nothing"}, names)
}

// TestSidesOfAReusedElement: the lookup of the old key, its deletion, and who has its memory now.
func TestSidesOfAReusedElement(t *testing.T) {
	m := machineOf(t, "testdata/clang-19/later.o", uapi.R(7, 0))
	var f *Finding
	for _, meeting := range Meetings(m, []string{"moving_begins", "move"}, Kernel{Version: uint32(uapi.R(7, 0)) << 8}) {
		r, err := Explore(context.Background(), m, meeting, Config{Preemptions: 2})
		require.NoError(t, err)
		for i := range r.Findings {
			if r.Findings[i].Kind == finding.UseAfterDelete && strings.Contains(r.Findings[i].Text, "touch_moved uses moving[7] after move deleted") && f == nil {
				f = &r.Findings[i]
			}
		}
	}
	require.NotNil(t, f)
	var sides []string
	for _, s := range f.Sides {
		sides = append(sides, s.What)
	}
	assert.Equal(t, []string{"changes an element of moving", "changes an element of moving", "writes moving[8].count = 5"}, sides, "it deleted moving[7] and made moving[8]")
}

// TestProgramsThatCannotRunEndASearch with what says so.
func TestProgramsThatCannotRunEndASearch(t *testing.T) {
	m := textMachine(t, ".prog p tc\nr0 = 0\nexit\n")
	for _, program := range []string{"nothing"} {
		r, err := Explore(context.Background(), m, Meeting{Actors: twice(program), Written: true}, Config{Preemptions: 2})
		require.Error(t, err)
		require.NotNil(t, r)
		assert.False(t, r.Complete)
		assert.Zero(t, r.Orders)
	}
	r, err := Explore(context.Background(), m, Meeting{Actors: twice("p"), Written: true}, Config{Preemptions: 2})
	require.NoError(t, err)
	assert.True(t, r.Complete)
	assert.Positive(t, r.Orders)
}

// TestWhichStoreIsSeenNext: the oldest, or of the other buffer the newest, unless it would pass one of
// the same bytes.
func TestWhichStoreIsSeenNext(t *testing.T) {
	store := func(addr uint64, size int) pending { return pending{addr: addr, value: make([]byte, size)} }
	for _, tt := range []struct {
		name   string
		stores []pending
		want   [2]int
	}{
		{"none", nil, [2]int{-1, -1}},
		{"one", []pending{store(8, 8)}, [2]int{0, -1}},
		{"two apart", []pending{store(8, 8), store(16, 8)}, [2]int{0, 1}},
		{"two of the same bytes", []pending{store(8, 8), store(8, 8)}, [2]int{0, -1}},
		{"the last byte of the first", []pending{store(8, 8), store(15, 1)}, [2]int{0, -1}},
		{"the last passes the first", []pending{store(8, 8), store(16, 8), store(12, 2)}, [2]int{0, -1}},
		{"the last passes the second", []pending{store(8, 8), store(16, 8), store(16, 2)}, [2]int{0, -1}},
		{"three apart", []pending{store(8, 8), store(16, 8), store(24, 2)}, [2]int{0, 2}},
	} {
		s := &system{stores: [][]pending{tt.stores}}
		assert.Equal(t, tt.want, [2]int{s.oldest(0, 0), s.oldest(0, 1)}, tt.name)
	}
}

// TestWhatAnOwnObjectPointsTo is its own too, if that has one place at a time; other things are shared.
func TestWhatAnOwnObjectPointsTo(t *testing.T) {
	m := machineOf(t, "testdata/clang-19/own.o", 0)
	actors := Apart(m, []Actor{{Program: "by_request", Over: -1}, {Program: "by_request", Over: -1, Input: machine.Input{CPU: 1}}})
	objects, err := m.HookObjects("by_request", machine.Input{})
	require.NoError(t, err)
	for name, v := range actors[1].Input.Args {
		one, own := objects[name], m.Kernel().ObjectAt(uint64(v.(object.Pointer)))
		for field, apart := range map[string]bool{"bio": true, "q": false} {
			a, err := one.Pointee(field)
			require.NoError(t, err)
			b, err := own.Pointee(field)
			require.NoError(t, err)
			require.NotNil(t, a, field)
			require.NotNil(t, b, field)
			assert.Equal(t, apart, a != b, field)
		}
	}
}

// TestWhatASearchWrote is written again where it is: at an address, in an element by its key, in a
// field of the context once there is one.
func TestWhatASearchWrote(t *testing.T) {
	value := func(m *machine.Machine, key byte) byte {
		addr, errno := byName(t, m, "a").Lookup(0, []byte{key, 0, 0, 0})
		require.Zero(t, errno)
		var b [1]byte
		require.Nil(t, m.Memory().Read(addr, b[:]))
		return b[0]
	}
	for _, tt := range []struct {
		name string
		key  []byte
		want [2]byte
	}{
		{"by address", nil, [2]byte{7, 0}}, {"by key", []byte{1, 0, 0, 0}, [2]byte{0, 7}}, {"by a key of another length", []byte{1}, [2]byte{}}, {"by a key that is not there", []byte{9, 0, 0, 0}, [2]byte{}},
	} {
		m := textMachine(t, ".map a array 4 8 2\n.prog p tc\nr1 = map_fd(a)\nr0 = 0\nexit\n")
		at, errno := byName(t, m, "a").Lookup(0, make([]byte, 4))
		require.Zero(t, errno)
		in := &furtherInput{writes: []search.Override{{Kind: search.Memory, Addr: at, Data: []byte{7}, Place: search.Place{Input: search.MapValue, Name: "a", Key: tt.key}}}}
		in.write(m, nil)
		assert.Equal(t, tt.want, [2]byte{value(m, 0), value(m, 1)}, tt.name)
	}
}

// TestSocketsOfPrograms: no two run for one socket if all hold its lock, or if one closes it and the
// others need its file.
func TestSocketsOfPrograms(t *testing.T) {
	for _, tt := range []struct {
		hooks string
		want  bool
	}{
		{"tcp_ack tcp_fin", true}, {"tcp_ack vfs_read", false}, {"vfs_read tcp_ack", false},
		{"tcp_close tcp_sendmsg", true}, {"tcp_sendmsg tcp_close", true}, {"tcp_close tcp_close", true}, {"tcp_sendmsg tcp_sendmsg", false},
		{"tcp_ack tcp_close", false}, {"tcp_close tcp_ack", false}, {"vfs_read tcp_sendmsg tcp_close", false}, {"tcp_close vfs_read tcp_sendmsg", false}, {"tcp_close tcp_sendmsg vfs_read", false},
		{"udp_lib_close udp_recvmsg", true},
	} {
		var progs []*loader.LinkedProgram
		for hook := range strings.FieldsSeq(tt.hooks) {
			progs = append(progs, &loader.LinkedProgram{Program: &loader.Program{AttachTo: hook}})
		}
		assert.Equal(t, tt.want, socketsApart(progs), tt.hooks)
	}
}

// TestWhatUserSpaceGets: the error of each call, and the value where there is none.
func TestWhatUserSpaceGets(t *testing.T) {
	m := textMachine(t, ".map h hash 4 8 2\n.map a array 4 8 1\n.map q queue 0 8 2\n.prog p tc\nr0 = 0\nexit\n")
	key, missing, value := []byte{1, 0, 0, 0}, []byte{2, 0, 0, 0}, []byte{1, 2, 3, 4, 5, 6, 7, 8}
	h, a := byName(t, m, "h"), byName(t, m, "a")
	for _, tt := range []struct {
		name string
		u    UserStep
		want uapi.Errno
		data []byte
	}{
		{"a lookup", UserStep{Op: Lookup, Map: h, Key: key}, 0, value},
		{"a lookup of nothing", UserStep{Op: Lookup, Map: h, Key: missing}, uapi.ENOENT, nil},
		{"a pop", UserStep{Op: Pop, Map: h, Key: key}, 0, value},
		{"a pop of nothing", UserStep{Op: Pop, Map: h, Key: missing}, uapi.ENOENT, nil},
		{"a deletion", UserStep{Op: Delete, Map: h, Key: key}, 0, nil},
		{"a deletion of nothing", UserStep{Op: Delete, Map: h, Key: missing}, uapi.ENOENT, nil},
		{"an update", UserStep{Op: Update, Map: h, Key: key, Value: value, Flags: uapi.Exist}, 0, nil},
		{"an update of what is there", UserStep{Op: Update, Map: h, Key: key, Value: value, Flags: uapi.NoExist}, uapi.EEXIST, nil},
		{"a read", UserStep{Op: Read, Map: h, Key: key, Off: 2, Size: 3}, 0, value[2:5]},
		{"a read of nothing", UserStep{Op: Read, Map: h, Key: missing, Size: 3}, uapi.ENOENT, nil},
		{"a write", UserStep{Op: Write, Map: a, Key: make([]byte, 4), Off: 2, Value: value[:3]}, 0, nil},
		{"a write of nothing", UserStep{Op: Write, Map: a, Key: key, Value: value[:3]}, uapi.ENOENT, nil},
	} {
		require.Zero(t, h.Update(maps.AllCPUs, key, value, 0))
		s, err := newSystem(m, []Actor{{User: []UserStep{tt.u}, Over: -1}, {Program: "p", Over: -1, Input: machine.Input{CPU: 1}}}, Sequential)
		require.NoError(t, err, tt.name)
		s.userStep(0)
		got := s.now[0].end.user
		assert.Equal(t, tt.want, uapi.Errno(binary.LittleEndian.Uint32(got)), tt.name)
		assert.Equal(t, tt.data, append([]byte(nil), got[4:]...), tt.name)
		assert.Equal(t, order.Done, s.now[0].state)
		assert.Equal(t, tt.want != 0, s.now[0].failed)
		s.x.Close()
	}
}

// TestOnlyElementsThatComeAndGoAreReused: an element of an array has one key for good, whatever was
// looked up.
func TestOnlyElementsThatComeAndGoAreReused(t *testing.T) {
	m := textMachine(t, ".map h hash 4 8 2\n.map a array 4 8 2\n.prog p tc\nr0 = 0\nexit\n")
	key, other := []byte{1, 0, 0, 0}, []byte{9, 0, 0, 0}
	require.Zero(t, byName(t, m, "h").Update(maps.AllCPUs, key, make([]byte, 8), 0))
	s, err := newSystem(m, twice("p"), Sequential)
	require.NoError(t, err)
	defer s.x.Close()
	for _, tt := range []struct {
		table string
		was   []byte // nil for no lookup
		gone  bool
		kind  accessKind
		want  bool
	}{
		{"h", other, false, plainRead, true}, {"h", other, false, plainWrite, true}, {"h", key, false, plainRead, false}, {"h", key, true, plainRead, true}, {"h", nil, false, plainRead, false},
		{"a", other, false, plainRead, false}, {"a", other, true, plainRead, false}, {"h", other, false, lookup, false},
	} {
		addr, errno := byName(t, m, tt.table).Lookup(0, key)
		require.Zero(t, errno)
		f := &flow{elems: map[uint64][]byte{}, gone: map[uint64]bool{addr: tt.gone}}
		if tt.was != nil {
			f.elems[addr] = tt.was
		}
		e := &event{kind: tt.kind, touches: []order.Touch{{Addr: addr + 4, Size: 4}}}
		newWatch(twice("p")).notice(s, f, e)
		assert.Equal(t, tt.want, e.stale != nil, "%s: %v, %d", tt.table, tt.was, tt.kind)
	}
}

// TestOperationsOfCPUsNeedNoOtherTask: one is made for steps only, which can be in any task.
func TestOperationsOfCPUsNeedNoOtherTask(t *testing.T) {
	for step, want := range map[int]bool{0: false, 1: true} {
		m := textMachine(t, ".map a array 4 8 1\n.prog p tc\nr0 = 0\nexit\n")
		o := NewOverlaps(m, newest, nil, func() (Config, bool) { return Config{}, true })
		for range 2 {
			require.NoError(t, o.Called(context.Background(), Operation{Name: "p", Program: "p", Step: step}))
			assert.Equal(t, want, o.second != nil, "step %d", step)
		}
	}
}
