package scenario

import (
	"net/netip"
	"testing"

	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// objects opens a file with objects for the exec example, which has no say in them, and returns
// them by name.
func objects(t *testing.T, text string) map[string]*object.Object {
	t.Helper()
	o, _ := objectsIn(t, text)
	return o
}

// objectsIn is objects with the kernel they live in.
func objectsIn(t *testing.T, text string) (map[string]*object.Object, *kernel.Kernel) {
	t.Helper()
	r, err := openText(t, "exec", "objects:\n"+text+"runs: []\n")
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r.b.objects, r.m.Kernel()
}

// list walks a list_head as a program does and returns the objects whose member it links.
func list(t *testing.T, head *object.Object, path, via string) []string {
	t.Helper()
	start, err := head.FieldAddr(path)
	require.NoError(t, err)
	k := head.Space()
	at, err := head.Uint(path + ".next")
	require.NoError(t, err)
	prev := start
	var roles []string
	for at != start {
		require.Less(t, len(roles), 16, "the list has an end")
		o := k.ObjectAt(at)
		require.NotNil(t, o)
		own, err := o.FieldAddr(via)
		require.NoError(t, err)
		require.Equal(t, own, at)
		back, err := o.Uint(via + ".prev")
		require.NoError(t, err)
		assert.Equal(t, prev, back)
		roles = append(roles, o.Role())
		prev = at
		at, err = o.Uint(via + ".next")
		require.NoError(t, err)
	}
	last, err := head.Uint(path + ".prev")
	require.NoError(t, err)
	assert.Equal(t, prev, last)
	return roles
}

func number64(t *testing.T, o *object.Object, path string) uint64 {
	t.Helper()
	v, err := o.Uint(path)
	require.NoError(t, err)
	return v
}

func TestTaskLists(t *testing.T) {
	o := objects(t, `  init: !task {pid: 1, children: [$a, $b]}
  a: !task {pid: 2, children: [$c], threads: [$a2, $a3]}
  a2: !task {pid: 3, tgid: 2}
  a3: !task {pid: 4, tgid: 2}
  b: !task {pid: 5}
  c: !task {pid: 6, real_parent: $init}
`)
	assert.Equal(t, []string{"a", "b"}, list(t, o["init"], "children", "sibling"))
	assert.Equal(t, []string{"c"}, list(t, o["a"], "children", "sibling"))
	assert.Equal(t, []string{"a", "a2", "a3"}, list(t, o["a"], "signal.thread_head", "thread_node"))
	for name, parent := range map[string]string{"a": "init", "b": "init", "c": "init"} {
		p, err := o[name].Pointee("real_parent")
		require.NoError(t, err)
		assert.Same(t, o[parent], p, name)
	}
	for _, name := range []string{"a2", "a3"} {
		leader, err := o[name].Pointee("group_leader")
		require.NoError(t, err)
		assert.Same(t, o["a"], leader)
		assert.Equal(t, number64(t, o["a"], "signal"), number64(t, o[name], "signal"))
	}
}

func TestFilesOfATask(t *testing.T) {
	o := objects(t, "  t: !task {pid: 9, files: [$f, null, !file {path: /x, ino: 5}]}\n  f: !file {path: /y, ino: 4}\n")
	assert.EqualValues(t, 3, number64(t, o["t"], "files.fdt.max_fds"))
	assert.EqualValues(t, 4, number64(t, o["t"], "files.fdt.fd[0].f_inode.i_ino"))
	assert.Zero(t, number64(t, o["t"], "files.fdt.fd[1]"))
	assert.EqualValues(t, 5, number64(t, o["t"], "files.fdt.fd[2].f_inode.i_ino"))
}

func TestCgroups(t *testing.T) {
	o, k := objectsIn(t, `  web: !cgroup {path: /system.slice/web.service, id: 77}
  db: !cgroup {path: /system.slice/db.service}
  t: !task {pid: 9, cgroup: $web}
`)
	assert.EqualValues(t, 77, number64(t, o["web"], "kn.id"))
	assert.EqualValues(t, 2, number64(t, o["web"], "level"))
	name, err := o["web"].String("kn.name")
	require.NoError(t, err)
	assert.Equal(t, "web.service", name)
	for level, want := range []uint64{1, number64(t, o["db"], "ancestors[1].kn.id"), 77} {
		assert.Equal(t, want, number64(t, o["web"], []string{"ancestors[0]", "ancestors[1]", "ancestors[2]"}[level]+".kn.id"))
	}
	assert.Equal(t, number64(t, o["web"], "self.parent"), number64(t, o["db"], "self.parent"))
	parent, err := o["web"].Pointee("ancestors[1]")
	require.NoError(t, err)
	assert.Equal(t, []string{"web", "db"}, list(t, parent, "self.children", "self.sibling"))
	k.SetCurrent(o["t"])
	assert.EqualValues(t, 77, k.CgroupID())
	assert.EqualValues(t, 1, k.AncestorCgroupID(0))
}

func TestAddressSpaces(t *testing.T) {
	o, k := objectsIn(t, `  lib: !file {path: /lib/x.so, ino: 8}
  mm: !mm {args: [ls, -l], env: [A=b], areas: [{start: 0x2000, end: 0x3000, file: $lib, flags: 5}, {start: 0x1000, end: 0x2000}], user: {0x7000: hello, 0x8000: !hex "0102"}}
`)
	read := func(addr, n uint64) string {
		b := make([]byte, n)
		require.NoError(t, k.UserRead(addr, b))
		return string(b)
	}
	start, end := number64(t, o["mm"], "arg_start"), number64(t, o["mm"], "arg_end")
	assert.Equal(t, "ls\x00-l\x00", read(start, end-start))
	assert.Equal(t, "hello\x00", read(0x7000, 6))
	assert.Equal(t, "\x01\x02", read(0x8000, 2))
	assert.EqualValues(t, 2, number64(t, o["mm"], "map_count"))
	vma, err := k.VMAAt(o["mm"], 0x2010)
	require.NoError(t, err)
	assert.EqualValues(t, 0x2000, number64(t, vma, "vm_start"))
	assert.EqualValues(t, 8, number64(t, vma, "vm_file.f_inode.i_ino"))
	assert.Equal(t, o["mm"].Addr(), number64(t, vma, "vm_mm"))
}

func TestRegistersAndExecutions(t *testing.T) {
	o, k := objectsIn(t, `  f: !file {path: /x}
  regs: !pt_regs {args: [1, $f, !user text], ret: 0xffffffffffffffff, ip: 0x1234, bx: 7}
  exec: !bprm {path: /usr/bin/nc, argc: 2}
`)
	assert.EqualValues(t, 1, number64(t, o["regs"], "di"))
	assert.Equal(t, o["f"].Addr(), number64(t, o["regs"], "si"))
	assert.EqualValues(t, 0x1234, number64(t, o["regs"], "ip"))
	assert.EqualValues(t, 7, number64(t, o["regs"], "bx"), "a field is set after what the builder does")
	text := make([]byte, 5)
	require.NoError(t, k.UserRead(number64(t, o["regs"], "dx"), text))
	assert.Equal(t, "text\x00", string(text))
	name, err := o["exec"].String("filename")
	require.NoError(t, err)
	assert.Equal(t, "/usr/bin/nc", name)
	last, err := o["exec"].String("file.f_path.dentry.d_name.name")
	require.NoError(t, err)
	assert.Equal(t, "nc", last)
}

// TestUserVectors: a list in user memory is an array of pointers to strings that ends with null.
func TestUserVectors(t *testing.T) {
	o, k := objectsIn(t, "  regs: !pt_regs {args: [!user [ls, \"-l\", 0x4142], !user []]}\n")
	at := number64(t, o["regs"], "di")
	var got []string
	for word := make([]byte, 8); ; at += 8 {
		require.NoError(t, k.UserRead(at, word))
		p := k.Mem().ByteOrder().Uint64(word)
		if p == 0 {
			break
		}
		text := make([]byte, 2)
		require.NoError(t, k.UserRead(p, text))
		got = append(got, string(text))
	}
	assert.Equal(t, []string{"ls", "-l", "AB"}, got)
	word := []byte{1, 1, 1, 1, 1, 1, 1, 1}
	require.NoError(t, k.UserRead(number64(t, o["regs"], "si"), word))
	assert.Equal(t, make([]byte, 8), word)
	_, err := openText(t, "exec", "objects:\n  regs: !pt_regs {args: [!user [{a: 1}]]}\nruns: []\n")
	assert.ErrorContains(t, err, "want a string, 0x and hex digits, or a list of these")
}

func TestMistakesOfBuilders(t *testing.T) {
	for _, tt := range []struct{ name, objects, want string }{
		{"a child of another type", "  f: !file {path: /x}\n  t: !task {children: [$f]}\n", "s.yaml:3:23: children: $f is a file, want a task_struct"},
		{"an unknown child", "  t: !task {children: [$tt]}\n", `s.yaml:2:23: unknown object "tt" (nearest: t)`},
		{"no list", "  t: !task {threads: 1}\n", "s.yaml:2:21: threads: want a list of $name"},
		{"areas that overlap", "  m: !mm {areas: [{start: 1, end: 3}, {start: 2, end: 4}]}\n", "s.yaml:2:17: areas: memory area 0x2 to 0x4"},
		{"a key of an area", "  m: !mm {areas: [{begin: 1}]}\n", `s.yaml:2:19: unknown key of an area "begin"`},
		{"a relative cgroup", "  c: !cgroup {path: a/b}\n", "s.yaml:2:20: path: want an absolute path"},
		{"a cgroup twice", "  c: !cgroup {path: /a, id: 5}\n  d: !cgroup {path: /a, id: 6}\n", "s.yaml:3:20: cgroup /a already exists, with id 5"},
		{"too many registers", "  r: !pt_regs {args: [1, 2, 3, 4, 5, 6, 7]}\n", "got 7 arguments, but only 6 fit in registers"},
		{"kernel memory as user memory", "  m: !mm {user: {0xffff888000000000: x}}\n", "s.yaml:2:17: 0xffff888000000000 is not a user-space address"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := openText(t, "exec", "objects:\n"+tt.objects+"runs: []\n")
			if r != nil {
				r.Close()
			}
			var e *grammar.Error
			require.ErrorAs(t, err, &e)
			assert.Contains(t, err.Error(), tt.want)
		})
	}
}

// TestFlows: a flow of the flow table is described like a connection; its type is the module's.
func TestFlows(t *testing.T) {
	for text, want := range map[string]string{
		"  f: !flow {source: 10.0.0.2}\n":                                     "a flow needs source: and dest:",
		"  f: !flow {source: 10.0.0.2, dest: '::1'}\n":                        "both IPv4 or both IPv6",
		"  f: !flow {source: 10.0.0.2, dest: 10.0.0.1, iif: -1}\n":            "outside the range 0 to 2147483647",
		"  f: !flow {source: 10.0.0.2, dest: 10.0.0.1, iif: 2, expires: 5}\n": "flow_offload is not in the kernel's BTF",
	} {
		_, err := openText(t, "exec", "objects:\n"+text+"runs: []\n")
		assert.ErrorContains(t, err, want)
	}
}

// TestConnections: lookups find the file's connections; those that programs cannot tell apart are
// one mistake.
func TestConnections(t *testing.T) {
	const c = "  c: !conn {source: 10.0.0.1, dest: 10.0.0.2, sport: 1000, dport: 53, protocol: udp, zone: 4, mark: 3, expires: 60}\n"
	o, k := objectsIn(t, c+"  six: !conn {source: '::1', dest: '::2', status: IPS_CONFIRMED}\n")
	now := uint32(k.Clock().Jiffies())
	tuple := net.ConnTuple{Protocol: 17, Source: netip.MustParseAddrPort("10.0.0.1:1000"), Dest: netip.MustParseAddrPort("10.0.0.2:53")}
	found, dir := k.Tracked(tuple.Reply(), net.ConnZone{ID: 4, Dir: net.ZoneBothDirs}, now)
	assert.Same(t, o["c"], found)
	assert.EqualValues(t, 1, dir)
	for path, want := range map[string]uint64{"mark": 3, "status": 0xe, "zone.id": 4, "timeout": uint64(now) + 60*k.Clock().HZ, "ct_general.use.refs.counter": 1, "tuplehash[0].tuple.src.l3num": 2} {
		assert.Equal(t, want, number64(t, o["c"], path), path)
	}
	assert.EqualValues(t, 8, number64(t, o["six"], "status"))
	assert.EqualValues(t, 10, number64(t, o["six"], "tuplehash[1].tuple.src.l3num"))
	found, _ = k.Tracked(tuple, net.ConnZone{ID: 4, Dir: net.ZoneBothDirs}, now+uint32(60*k.Clock().HZ))
	assert.Nil(t, found, "its time is over")
	for text, want := range map[string]string{
		c + "  d: !conn {source: 10.0.0.2, dest: 10.0.0.1, sport: 53, dport: 1000, protocol: udp, zone: 4}\n": "another connection",
		"  d: !conn {source: 10.0.0.2}\n":                              "a connection needs source: and dest:",
		"  d: !conn {source: 10.0.0.2, dest: '::1'}\n":                 "both IPv4 or both IPv6",
		"  d: !conn {source: 10.0.0.2, dest: x}\n":                     "want an IP address",
		"  d: !conn {source: 10.0.0.2, dest: 10.0.0.1, zone: 65536}\n": "outside the range 0 to 65535",
	} {
		_, err := openText(t, "exec", "objects:\n"+text+"runs: []\n")
		assert.ErrorContains(t, err, want)
	}
}
