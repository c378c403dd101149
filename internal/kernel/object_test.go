package kernel

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
)

func TestSetAndLoad(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		o, err := k.NewObjectNamed("sh", "task_struct")
		require.NoError(t, err)
		require.NoError(t, o.Set("pid", 4242))
		require.NoError(t, o.Set("comm", "bash"))
		require.NoError(t, o.Set("cred.uid.val", 1000))
		require.NoError(t, o.Set("exit_code", -1))

		f, err := b.spec.ResolvePath(o.Type(), "pid")
		require.NoError(t, err)
		v, fault := k.Mem().Load(o.Addr()+uint64(f.BitOffset/8), 4)
		require.Nil(t, fault)
		assert.EqualValues(t, 4242, v)
		f, err = b.spec.ResolvePath(o.Type(), "cred")
		require.NoError(t, err)
		p, fault := k.Mem().Load(o.Addr()+uint64(f.BitOffset/8), b.spec.PointerSize())
		require.Nil(t, fault)
		_, typ, path, ok := k.Resolve(p + 4)
		require.True(t, ok)
		assert.Equal(t, "cred", typ)
		assert.NotEmpty(t, path)
		s, err := o.String("comm")
		require.NoError(t, err)
		assert.Equal(t, "bash", s)
		assert.EqualValues(t, uint64(0xffffffff), uintAt(t, o, "exit_code"))
		assert.EqualValues(t, 1000, uintAt(t, o, "cred->uid.val"))
		assert.True(t, o.IsSet("pid"))
		assert.False(t, o.IsSet("tgid"))
	})
}

func TestSetValues(t *testing.T) {
	k := newEmbedded(t)
	task := func() *object.Object {
		o, err := k.NewObjectNamed("t", "task_struct")
		require.NoError(t, err)
		return o
	}
	parent := task()
	for _, c := range []struct {
		name, path string
		value      any
		read       string
		want       uint64
	}{
		{"int", "pid", int32(7), "pid", 7},
		{"negative", "prio", -5, "prio", 0xfffffffb},
		{"unsigned as negative", "flags", -1, "flags", 0xffffffff},
		{"object", "real_parent", parent, "real_parent", parent.Addr()},
		{"null", "real_parent", nil, "real_parent", 0},
		{"address", "stack", object.Pointer(0x1234), "stack", 0x1234},
		{"array element", "comm[3]", 65, "comm[3]", 65},
		{"through pointers", "real_parent->real_parent->tgid", 9, "real_parent.real_parent.tgid", 9},
		{"struct by members", "se", map[string]any{"vruntime": 55}, "se.vruntime", 55},
		{"pointer to a struct by members", "cred", map[string]any{"uid.val": 3, "euid.val": 4}, "cred.euid.val", 4},
		{"list", "comm", []any{1, 2, 3}, "comm[2]", 3},
		{"bytes", "comm", []byte{9, 8}, "comm[1]", 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := task()
			require.NoError(t, o.Set(c.path, c.value))
			assert.Equal(t, c.want, uintAt(t, o, c.read))
		})
	}
}

func TestSetErrors(t *testing.T) {
	k := newEmbedded(t)
	o := k.Current()
	for _, c := range []struct {
		name, path string
		value      any
		kind       error
	}{
		{"no field", "pidd", 1, object.ErrNoField},
		{"no field behind a pointer", "cred.uuid", 1, object.ErrNoField},
		{"index too large", "comm[16]", 1, object.ErrBadPath},
		{"member of an integer", "pid.x", 1, object.ErrBadPath},
		{"broken index", "comm[", 1, object.ErrBadPath},
		{"empty step", "cred..uid", 1, object.ErrBadPath},
		{"function pointer", "thread_pid.rcu.func.x", 1, object.ErrBadPath},
		{"out of range", "pid", int64(1) << 32, object.ErrValue},
		{"text for a number", "pid", "seven", object.ErrValue},
		{"text too long", "comm", "0123456789abcdefg", object.ErrValue},
		{"too many elements", "comm", make([]any, 17), object.ErrValue},
		{"text for a struct pointer", "cred", "x", object.ErrValue},
		{"number for a struct", "se", 1, object.ErrValue},
		{"text for an array of numbers", "thread.tls_array", "x", object.ErrValue},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.ErrorIs(t, o.Set(c.path, c.value), c.kind)
		})
	}
	var pe *object.PathError
	require.ErrorAs(t, o.Set("real_parent.tgi", 1), &pe)
	assert.Equal(t, "real_parent.tgi", pe.Path)
	assert.Equal(t, "task_struct", pe.Type)
	assert.Contains(t, pe.Nearest, "tgid")
	_, err := k.NewObjectNamed("x", "no_such_type")
	var te *object.TypeError
	require.ErrorAs(t, err, &te)
	_, err = k.NewObject("x", 0)
	require.ErrorAs(t, err, &te)
}

func TestHasField(t *testing.T) {
	k := newEmbedded(t)
	o := k.Current()
	for path, want := range map[string]bool{"__state": true, "state": false, "real_parent.cred.uid.val": true, "nsproxy.net_ns.ns.inum": true, "mm.nosuch": false, "comm[99]": false} {
		assert.Equal(t, want, o.Has(path), path)
		assert.Equal(t, want, k.HasField(o.Type(), path) == nil, path)
	}
}

// TestBitfields sets every bitfield of sock-like types to a pattern and reads it back, with its
// neighbours unchanged.
func TestBitfields(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b, func(c *Config) { c.Mode = object.ModeScenario })
		o, err := k.NewObjectNamed("skb", "sk_buff")
		require.NoError(t, err)
		names := []string{}
		for _, n := range []string{"pkt_type", "ip_summed", "ooo_okay", "l4_hash", "sw_hash", "cloned", "nohdr", "peeked"} {
			if o.Has(n) {
				names = append(names, n)
			}
		}
		require.NotEmpty(t, names)
		want := map[string]uint64{}
		for i, n := range names {
			v := uint64(i+1) & 1
			if n == "pkt_type" || n == "ip_summed" {
				v = 2
			}
			require.NoError(t, o.Set(n, v))
			want[n] = v
		}
		for n, v := range want {
			assert.Equal(t, v, uintAt(t, o, n), n)
		}
		assert.ErrorIs(t, o.Set("pkt_type", 8), object.ErrValue)
	})
}

// TestBitfieldBytes compares the layout of bitfields in memory with what the BTF says, in both byte
// orders.
func TestBitfieldBytes(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b, func(c *Config) { c.Mode = object.ModeScenario })
		o, err := k.NewObjectNamed("skb", "sk_buff")
		require.NoError(t, err)
		f, err := b.spec.ResolvePath(o.Type(), "pkt_type")
		require.NoError(t, err)
		require.EqualValues(t, 3, f.BitSize)
		require.NoError(t, o.Set("pkt_type", 5))
		c, fault := k.Mem().Load(o.Addr()+uint64(f.BitOffset/8), 1)
		require.Nil(t, fault)
		shift := f.BitOffset % 8
		if k.BigEndian() {
			shift = 8 - 3 - shift
		}
		assert.EqualValues(t, 5, c>>shift&7)
	})
}

func TestReadOnlyForPrograms(t *testing.T) {
	k := newEmbedded(t)
	f := k.Mem().Store(k.Current().Addr(), 8, 1)
	require.NotNil(t, f)
	assert.Equal(t, mem.NotPermitted, f.Kind)
	assert.Contains(t, f.Error(), "task_struct")
}

func TestAccessLog(t *testing.T) {
	k := newEmbedded(t)
	o := k.Current()
	require.NoError(t, o.Set("exit_code", 3))
	at := func(path string) uint64 {
		f, err := k.BTF().ResolvePath(o.Type(), path)
		require.NoError(t, err)
		return o.Addr() + uint64(f.BitOffset/8)
	}
	var got []object.Access
	k.SetSink(func(a *object.Access) { got = append(got, *a) })
	_, f := k.Mem().Load(at("exit_code"), 4)
	require.Nil(t, f)
	_, f = k.Mem().Load(at("tgid"), 4)
	require.Nil(t, f)
	require.Nil(t, k.Mem().Read(at("comm"), make([]byte, 16)))
	require.Nil(t, k.Mem().Read(at("comm")+3, make([]byte, 1)))
	require.Len(t, got, 4)
	assert.Equal(t, "exit_code", got[0].Path)
	assert.Equal(t, "task_struct", got[0].Type)
	assert.Equal(t, "current", got[0].Role)
	assert.True(t, got[0].Set)
	assert.False(t, got[0].Default)
	assert.Equal(t, "tgid", got[1].Path)
	assert.True(t, got[2].Default)
	assert.Equal(t, "comm", got[2].Path)
	assert.Equal(t, "comm[3]", got[3].Path)
	k.SetSink(nil)
	k.Mem().Load(at("tgid"), 4)
	assert.Len(t, got, 4)
}

// TestAccessPastBitfields names every bitfield a load of their unit may be meant for.
func TestAccessPastBitfields(t *testing.T) {
	k := newEmbedded(t)
	o, err := k.NewObjectNamed("skb", "sk_buff")
	require.NoError(t, err)
	f, err := k.BTF().ResolvePath(o.Type(), "pkt_type")
	require.NoError(t, err)
	_, _, path, ok := k.Resolve(o.Addr() + uint64(f.BitOffset/8))
	require.True(t, ok)
	assert.Contains(t, path, "pkt_type")
}

// TestUnions: the member that fits the access exactly is meant.
func TestUnions(t *testing.T) {
	k := newEmbedded(t)
	o, err := k.NewObjectNamed("sk", "sock")
	require.NoError(t, err)
	var path string
	k.SetSink(func(a *object.Access) { path = a.Type + ":" + a.Path })
	_, f := k.Mem().Load(o.Addr(), 4)
	require.Nil(t, f)
	assert.Equal(t, "sock:__sk_common.skc_daddr", path)
	_, f = k.Mem().Load(o.Addr(), 8)
	require.Nil(t, f)
	assert.Equal(t, "sock:__sk_common.skc_addrpair", path)
}

// TestContainers: a sock is part of a tcp_sock, a vfsmount of a mount.
func TestContainers(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		sk, err := k.NewObjectNamed("sk", "sock")
		require.NoError(t, err)
		tcp, ok := b.spec.Find(btf.KindStruct, "tcp_sock")
		require.True(t, ok)
		f, err := b.spec.ResolvePath(tcp.ID, "snd_cwnd")
		require.NoError(t, err)
		v, fault := k.Mem().Load(sk.Addr()+uint64(f.BitOffset/8), 4)
		require.Nil(t, fault)
		assert.EqualValues(t, 10, v)

		m, err := k.NewObjectNamed("m", "vfsmount")
		require.NoError(t, err)
		mount, ok := b.spec.Find(btf.KindStruct, "mount")
		require.True(t, ok)
		mnt, err := b.spec.ResolvePath(mount.ID, "mnt")
		require.NoError(t, err)
		par, err := b.spec.ResolvePath(mount.ID, "mnt_parent")
		require.NoError(t, err)
		base := m.Addr() - uint64(mnt.BitOffset/8)
		v, fault = k.Mem().Load(base+uint64(par.BitOffset/8), b.spec.PointerSize())
		require.Nil(t, fault)
		top, fault := k.Mem().Load(v+uint64(par.BitOffset/8), b.spec.PointerSize())
		require.Nil(t, fault)
		assert.NotEqual(t, base, v)
		assert.Equal(t, v, top, "the root of the mounts is its own parent")
		parent, err := k.NewObjectNamed("path", "path")
		require.NoError(t, err)
		require.NoError(t, parent.Set("mnt", object.Pointer(base)))
		assert.Equal(t, v, uintAt(t, parent, "mnt->mnt_parent"), "a path through a pointer to the outer type")
		require.NoError(t, parent.Set("mnt", m))
		assert.EqualValues(t, 0x20, uintAt(t, parent, "mnt->mnt_flags"), "and to the inner one")
	})
}

func TestObjectBounds(t *testing.T) {
	k := newEmbedded(t)
	o := k.Current()
	_, f := k.Mem().Load(o.Addr()+o.Size(), 8)
	require.NotNil(t, f)
	assert.Equal(t, mem.OutOfBounds, f.Kind)
	_, f = k.Mem().Load(o.Addr()+o.Size()-4, 8)
	require.NotNil(t, f)
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"pid", "cred.uid.val", "comm[3]", "real_parent->tgid", "a[", "a[0x10]", "..", "->", "[1]", "a-b", "comm[-1]", "comm[99999999999]", "[0]", "[0].pid"} {
		f.Add(s)
	}
	spec := targets()[0]
	m, err := mem.New(mem.Config{Size: 16 << 20})
	if err != nil {
		f.Fatal(err)
	}
	k, err := New(Config{Mem: m, BTF: spec.spec, Types: spec.types})
	if err != nil {
		f.Fatal(err)
	}
	o := k.Current()
	f.Fuzz(func(t *testing.T, path string) {
		if _, err := o.Uint(path); err == nil && !o.Has(path) {
			t.Errorf("%q reads but is not there", path)
		}
	})
}

// TestNumbersOfAnySize: in damaged types a number may be as wide as the struct it is in; reading it
// ends.
func TestNumbersOfAnySize(t *testing.T) {
	for _, size := range []uint32{1, 3, 8, 9, 16, 17, 115} {
		b := btf.NewBuilder(nil)
		wide := b.Int("wide", size, 0)
		b.Struct("sample", size+1, btf.Member{Name: "first", Type: wide})
		spec, err := b.Spec(binary.LittleEndian)
		require.NoError(t, err)
		m, err := mem.New(mem.Config{Size: 1 << 20})
		require.NoError(t, err)
		k, err := New(Config{Mem: m, BTF: spec, Seed: 1})
		require.NoError(t, err)
		o, err := k.NewObjectNamed("sample", "sample")
		require.NoError(t, err)
		for off := range uint64(size) + 1 {
			_, fault := k.Mem().Load(o.Addr()+off, 1)
			require.Nil(t, fault, "%d of %d", off, size)
		}
		_, err = o.Uint("first")
		require.NoError(t, err)
	}
}
