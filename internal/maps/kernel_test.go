//go:build linux

package maps

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/testing/bpfprobe"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// The running kernel as an oracle: the same operations on a map of the kernel and on ours must give
// the same errors and the same contents. Nothing is attached or pinned. The system call is used
// directly, so that a loader's own checks do not hide the kernel's.

var iterations = flag.Int("create-iterations", 300, "map creations to compare with the running kernel, by type")

type createAttr struct {
	typ, keySize, valueSize, maxEntries, flags, innerFD, numaNode uint32
	name                                                          [16]byte
	ifindex, btfFD, keyType, valueType, vmlinuxValueType          uint32
	extra                                                         uint64
}

type elemAttr struct {
	fd         uint32
	_          uint32
	key, value uint64
	flags      uint64
}

const (
	cmdCreate = iota
	cmdLookup
	cmdUpdate
	cmdDelete
	cmdNextKey
	cmdLookupDelete = 21
)

func bpf(cmd uintptr, attr unsafe.Pointer, size uintptr) (int, uapi.Errno) {
	fd, _, e := unix.Syscall(unix.SYS_BPF, cmd, uintptr(attr), size)
	return int(fd), uapi.Errno(e)
}

func kernelCreate(s Spec, inner *kernelMap) (*kernelMap, uapi.Errno) {
	a := createAttr{typ: uint32(s.Type), keySize: s.KeySize, valueSize: s.ValueSize, maxEntries: s.MaxEntries, flags: s.Flags, extra: s.Extra, numaNode: uint32(s.NumaNode)}
	if inner != nil {
		a.innerFD = uint32(inner.fd)
	}
	fd, e := bpf(cmdCreate, unsafe.Pointer(&a), unsafe.Sizeof(a))
	if e != 0 {
		return nil, e
	}
	return &kernelMap{fd: fd, spec: s}, 0
}

type kernelMap struct {
	fd   int
	spec Spec
	size int // of a value buffer
}

func (k *kernelMap) close() { unix.Close(k.fd) }

func ptr(p []byte) uint64 {
	if len(p) == 0 {
		return 0
	}
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(p))))
}

func (k *kernelMap) do(cmd uintptr, key, value []byte, flags uint64) uapi.Errno {
	a := elemAttr{fd: uint32(k.fd), key: ptr(key), value: ptr(value), flags: flags}
	size := unsafe.Sizeof(a)
	_, e := bpf(cmd, unsafe.Pointer(&a), size)
	return e
}

// requireBPF skips without root or bpf(2) and returns the number of possible CPUs.
func requireBPF(t *testing.T) int {
	t.Helper()
	bpfprobe.Require(t)
	var u unix.Utsname
	require.NoError(t, unix.Uname(&u))
	var major, minor int
	release := unix.ByteSliceToString(u.Release[:])
	if n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor); n != 2 || major*1000+minor < 6018 {
		t.Skipf("compares with the running kernel: %s is older than 6.18, whose rules are simulated", release)
	}
	k, e := kernelCreate(Spec{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 4, MaxEntries: 1}, nil)
	if e != 0 {
		t.Skipf("compares with the running kernel: bpf(2) says %v", e)
	}
	k.close()
	b, err := os.ReadFile("/sys/devices/system/cpu/possible")
	if err != nil {
		t.Skipf("number of possible CPUs: %v", err)
	}
	n := 0
	for _, part := range strings.Split(strings.TrimSpace(string(b)), ",") {
		lo, hi := 0, 0
		if c, _ := fmt.Sscanf(part, "%d-%d", &lo, &hi); c == 1 {
			hi = lo
		}
		n += hi - lo + 1
	}
	return n
}

func errnoOf(t *testing.T, err error) uapi.Errno {
	if err == nil {
		return 0
	}
	var c *CreateError
	require.ErrorAs(t, err, &c)
	return c.Errno
}

// kernelTypes are the types a map of which needs nothing but attributes.
var kernelTypes = []uapi.MapType{
	uapi.MapTypeHash, uapi.MapTypePercpuHash, uapi.MapTypeLRUHash, uapi.MapTypeLRUPercpuHash, uapi.MapTypeArray, uapi.MapTypePercpuArray,
	uapi.MapTypeProgArray, uapi.MapTypePerfEventArray, uapi.MapTypeCgroupArray, uapi.MapTypeStackTrace, uapi.MapTypeLPMTrie, uapi.MapTypeQueue,
	uapi.MapTypeStack, uapi.MapTypeBloomFilter, uapi.MapTypeRingbuf, uapi.MapTypeUserRingbuf, uapi.MapTypeDevmap, uapi.MapTypeDevmapHash,
	uapi.MapTypeCpumap, uapi.MapTypeXskmap, uapi.MapTypeReuseportSockarray, uapi.MapTypeArena, uapi.MapTypeCgroupStorage, uapi.MapTypePercpuCgroupStorage,
}

// unavailable means that this kernel is built without what a type needs.
func unavailable(typ uapi.MapType, e uapi.Errno) bool {
	return e == uapi.EINVAL && (typ == uapi.MapTypeXskmap || typ == uapi.MapTypeDevmap || typ == uapi.MapTypeCpumap || typ == uapi.MapTypeCgroupStorage || typ == uapi.MapTypeCgroupArray) ||
		e == uapi.EOPNOTSUPP
}

func TestKernelCreate(t *testing.T) {
	cpus := requireBPF(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, typ := range kernelTypes {
		t.Run(typ.String(), func(t *testing.T) {
			k, e := kernelCreate(good(typ), nil)
			if e != 0 && unavailable(typ, e) {
				t.Skipf("this kernel has no %v", typ)
			}
			require.Equal(t, OK, e)
			k.close()
			env := newEnv(t, cpus)
			differ := 0
			specs := edges(good(typ))
			for range *iterations {
				s := good(typ)
				for range 1 + rnd.IntN(2) {
					mutate(rnd, &s)
				}
				specs = append(specs, s)
			}
			for _, s := range specs {
				// Not asking for more than either side should allocate.
				if (uint64(s.ValueSize)+uint64(s.KeySize))*uint64(s.MaxEntries) > 16<<20 || typ == uapi.MapTypeCpumap && s.MaxEntries > 100 || s.MaxEntries > 1<<16 && typ != uapi.MapTypeArena {
					continue
				}
				if typ == uapi.MapTypePerfEventArray && s.MaxEntries == 0 {
					continue // libbpf's rule, not the kernel's
				}
				_, err := New(env, s)
				k, want := kernelCreate(s, nil)
				if want == 0 {
					k.close()
				}
				if got := errnoOf(t, err); got != want {
					t.Errorf("%+v: %v (%v), kernel %v", s, got, err, want)
					if differ++; differ > 8 {
						t.FailNow()
					}
				}
				if env.maps.Len() > 200 {
					env = newEnv(t, cpus)
				}
			}
		})
	}
}

func mutate(rnd *rand.Rand, s *Spec) {
	sizes := []uint32{0, 1, 2, 3, 4, 5, 8, 12, 16, 24, 127 * 8, 128 * 8, 260, 261, 4096, 4097, 32768, 32769, 65535, 1<<22 - 400, 1<<22 - 48 - 8, 1<<22 - 48 - 4, 1 << 22, 1<<22 + 1, 1 << 31, 1<<32 - 1}
	entries := []uint32{0, 1, 2, 3, 4, 5, 100, 4095, 4096, 8192, 12288, 65536, 1 << 20, 1<<20 + 1}
	switch rnd.IntN(5) {
	case 0:
		s.KeySize = sizes[rnd.IntN(len(sizes))]
	case 1:
		s.ValueSize = sizes[rnd.IntN(len(sizes))]
	case 2:
		s.MaxEntries = entries[rnd.IntN(len(entries))]
	case 3:
		// Bit 19 is unknown to this kernel; 13 to 16 need more than a flag.
		bits := []int{0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 17, 18}
		s.Flags ^= 1 << bits[rnd.IntN(len(bits))]
	case 4:
		s.Extra = []uint64{0, 1, 3, 15, 16, 4096, 1 << 40, 1<<32 - 4096}[rnd.IntN(8)]
	}
}

// opSpecs are the maps the operation test runs on.
var opSpecs = []Spec{
	{Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 8, MaxEntries: 6},
	{Type: uapi.MapTypeHash, KeySize: 8, ValueSize: 5, MaxEntries: 6, Flags: uapi.MapNoPrealloc},
	{Type: uapi.MapTypeHash, KeySize: 3, ValueSize: 100, MaxEntries: 6},
	{Type: uapi.MapTypeHash, KeySize: 21, ValueSize: 1, MaxEntries: 6, Flags: uapi.MapRdonlyProg},
	{Type: uapi.MapTypePercpuHash, KeySize: 4, ValueSize: 12, MaxEntries: 6},
	{Type: uapi.MapTypePercpuHash, KeySize: 4, ValueSize: 8, MaxEntries: 6, Flags: uapi.MapNoPrealloc},
	{Type: uapi.MapTypeLRUHash, KeySize: 4, ValueSize: 8, MaxEntries: 1024},
	{Type: uapi.MapTypeLRUHash, KeySize: 4, ValueSize: 8, MaxEntries: 1024, Flags: uapi.MapNoCommonLRU},
	{Type: uapi.MapTypeLRUPercpuHash, KeySize: 4, ValueSize: 8, MaxEntries: 1024},
	{Type: uapi.MapTypeLRUHash, KeySize: 1, ValueSize: 8, MaxEntries: 1},
	{Type: uapi.MapTypeLRUPercpuHash, KeySize: 1, ValueSize: 8, MaxEntries: 1},
	{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 9, MaxEntries: 5},
	{Type: uapi.MapTypePercpuArray, KeySize: 4, ValueSize: 9, MaxEntries: 5},
	{Type: uapi.MapTypeLPMTrie, KeySize: 6, ValueSize: 4, MaxEntries: 9, Flags: uapi.MapNoPrealloc},
	{Type: uapi.MapTypeLPMTrie, KeySize: 5, ValueSize: 4, MaxEntries: 12, Flags: uapi.MapNoPrealloc},
	{Type: uapi.MapTypeQueue, ValueSize: 7, MaxEntries: 4},
	{Type: uapi.MapTypeStack, ValueSize: 8, MaxEntries: 4},
	{Type: uapi.MapTypeBloomFilter, ValueSize: 8, MaxEntries: 16, Flags: uapi.MapZeroSeed},
	{Type: uapi.MapTypeBloomFilter, ValueSize: 13, MaxEntries: 40, Extra: 3, Flags: uapi.MapZeroSeed},
	{Type: uapi.MapTypeStackTrace, KeySize: 4, ValueSize: 64, MaxEntries: 8},
	{Type: uapi.MapTypeRingbuf, MaxEntries: 4096},
	{Type: uapi.MapTypeUserRingbuf, MaxEntries: 4096},
	{Type: uapi.MapTypeCpumap, KeySize: 4, ValueSize: 4, MaxEntries: 4},
	{Type: uapi.MapTypeDevmap, KeySize: 4, ValueSize: 4, MaxEntries: 4},
	{Type: uapi.MapTypeDevmapHash, KeySize: 4, ValueSize: 4, MaxEntries: 3},
	{Type: uapi.MapTypeArena, MaxEntries: 4, Flags: uapi.MapMmapable},
	{Type: uapi.MapTypePerfEventArray, KeySize: 4, ValueSize: 4, MaxEntries: 2},
	{Type: uapi.MapTypeProgArray, KeySize: 4, ValueSize: 4, MaxEntries: 2},
	{Type: uapi.MapTypeXskmap, KeySize: 4, ValueSize: 4, MaxEntries: 2},
	{Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 8, MaxEntries: 6, Flags: uapi.MapRdonly},
	{Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 8, MaxEntries: 6, Flags: uapi.MapWronly},
}

func TestKernelOperations(t *testing.T) {
	cpus := requireBPF(t)
	for i, s := range opSpecs {
		s.Name = fmt.Sprintf("m%d", i)
		t.Run(fmt.Sprintf("%v_%d", s.Type, i), func(t *testing.T) {
			k, e := kernelCreate(s, nil)
			if e != 0 && unavailable(s.Type, e) {
				t.Skipf("this kernel has no %v", s.Type)
			}
			require.Equal(t, OK, e)
			defer k.close()
			env := newEnv(t, cpus)
			env.ValidDev = func(i uint32) bool { return i == 1 }
			m, err := New(env, s)
			require.NoError(t, err)
			k.size = UserValueSize(m)
			d := differ{t: t, k: k, m: m, rnd: rand.New(rand.NewPCG(uint64(i), 7))}
			for step := range 4000 {
				if d.step(step); t.Failed() {
					return
				}
				if step%97 == 0 {
					env.EndRun()
				}
				if step%50 == 0 {
					d.contents()
				}
			}
			assert.NoError(t, env.Err())
		})
	}
}

type differ struct {
	t   *testing.T
	k   *kernelMap
	m   Map
	rnd *rand.Rand
}

func (d *differ) key() []byte {
	s := d.m.Spec()
	key := make([]byte, s.KeySize)
	if s.KeySize == 0 {
		return nil
	}
	if s.Type == uapi.MapTypeLPMTrie {
		binary.LittleEndian.PutUint32(key, uint32(d.rnd.IntN(int(s.KeySize-4)*8+2)))
		for i := 4; i < len(key); i++ {
			key[i] = []byte{0, 0x80, 0xc0, 0xff, 0x81}[d.rnd.IntN(5)]
		}
		return key
	}
	key[0] = byte(d.rnd.IntN(9))
	if d.rnd.IntN(20) == 0 {
		key[len(key)-1] = 0xff
	}
	return key
}

func (d *differ) value() []byte {
	v := make([]byte, UserValueSize(d.m))
	for i := range v {
		v[i] = byte(d.rnd.Uint32())
	}
	switch d.m.Spec().Type {
	case uapi.MapTypeBloomFilter:
		clear(v)
		v[0] = byte(d.rnd.IntN(40))
	case uapi.MapTypeDevmap, uapi.MapTypeDevmapHash: // the loopback, no device, a missing one
		clear(v)
		v[0] = []byte{1, 1, 1, 0, 200}[d.rnd.IntN(5)]
	case uapi.MapTypeCpumap:
		clear(v)
		v[0] = byte(d.rnd.IntN(2)) * 192
		v[2] = byte(d.rnd.IntN(4) / 3)
	case uapi.MapTypePerfEventArray, uapi.MapTypeProgArray, uapi.MapTypeXskmap:
		for i := range v {
			v[i] = 0xff // no file descriptor
		}
	}
	return v
}

// fdMap are the maps whose contents are file descriptors: only errors are compared.
func (d *differ) fdMap() bool {
	switch d.m.Spec().Type {
	case uapi.MapTypePerfEventArray, uapi.MapTypeProgArray, uapi.MapTypeXskmap:
		return true
	}
	return false
}

func (d *differ) step(n int) {
	key := d.key()
	flags := []uint64{0, 0, 0, 0, 1, 2, 3, 4, 5, 8, 1 << 40}[d.rnd.IntN(11)]
	what := ""
	var got, want uapi.Errno
	switch op := d.rnd.IntN(10); {
	case op < 4:
		v := d.value()
		what = fmt.Sprintf("update %x %x flags %d", key, v, flags)
		got, want = UserUpdate(d.m, key, v, flags), d.k.do(cmdUpdate, key, v, flags)
	case op < 6:
		if flags > 5 {
			flags = 0
		}
		if flags&3 != 0 {
			flags = 0
		}
		ours, e := UserLookup(d.m, key, d.value(), flags)
		buf := d.value()
		if d.m.Spec().Type == uapi.MapTypeBloomFilter {
			ours, e = UserLookup(d.m, key, buf, flags)
			ours = slices.Clone(ours)
		}
		got, want = e, d.k.do(cmdLookup, key, buf, flags)
		what = fmt.Sprintf("lookup %x flags %d", key, flags)
		if got == 0 && want == 0 && !d.samePadded(ours, buf) {
			d.t.Errorf("step %d: %s: %x, kernel %x", n, what, ours, buf)
		}
	case op < 8:
		if d.m.Spec().Type == uapi.MapTypePerfEventArray {
			return // ours has events from the start
		}
		what = fmt.Sprintf("delete %x", key)
		got, want = UserDelete(d.m, key), d.k.do(cmdDelete, key, nil, 0)
	case op < 9:
		if flags > 5 || flags&3 != 0 {
			flags = 0
		}
		what = fmt.Sprintf("lookup and delete %x flags %d", key, flags)
		ours, e := UserLookupDelete(d.m, key, flags)
		buf := make([]byte, d.k.size)
		got, want = e, d.k.do(cmdLookupDelete, key, buf, flags)
		if got == 0 && want == 0 && !d.samePadded(ours, buf) {
			d.t.Errorf("step %d: %s: %x, kernel %x", n, what, ours, buf)
		}
	default:
		next := make([]byte, max(len(key), 1))
		what = fmt.Sprintf("next key of %x", key)
		ours, e := UserNextKey(d.m, key)
		got, want = e, d.k.do(cmdNextKey, key, next, 0)
		switch d.m.Spec().Type {
		case uapi.MapTypeHash, uapi.MapTypePercpuHash, uapi.MapTypeLRUHash, uapi.MapTypeLRUPercpuHash, uapi.MapTypeDevmapHash:
			if _, e := UserLookup(d.m, key, nil, 0); e == OK {
				return // which key is last depends on the hash
			}
		default:
			if got == 0 && want == 0 && !bytes.Equal(ours, next[:len(key)]) {
				d.t.Errorf("step %d: %s: %x, kernel %x", n, what, ours, next)
			}
		}
	}
	if got != want {
		d.t.Errorf("step %d: %s: %v, kernel %v", n, what, got, want)
	}
}

// samePadded compares values; what lies between the copies of a per-CPU value is not defined.
func (d *differ) samePadded(a, b []byte) bool {
	size, step := int(d.m.Spec().ValueSize), int(round8(d.m.Spec().ValueSize))
	if d.fdMap() {
		return true
	}
	if len(a) == size {
		return bytes.Equal(a, b)
	}
	for i := 0; i < len(a); i += step {
		if !bytes.Equal(a[i:i+size], b[i:i+size]) {
			return false
		}
	}
	return true
}

// contents compares everything that can be listed.
func (d *differ) contents() {
	s := d.m.Spec()
	if s.KeySize == 0 || d.fdMap() || s.Flags&uapi.MapWronly != 0 {
		return
	}
	list := func(next func(key []byte) ([]byte, uapi.Errno), value func(key []byte) []byte) map[string]string {
		out := map[string]string{}
		key, e := next(nil)
		for ; e == OK && len(out) < 100; key, e = next(key) {
			v := value(key)
			out[fmt.Sprintf("%x", key)] = fmt.Sprintf("%x", v)
		}
		return out
	}
	trim := func(v []byte) []byte {
		size, step := int(s.ValueSize), int(round8(s.ValueSize))
		if len(v) == size {
			return v
		}
		var out []byte
		for i := 0; i < len(v); i += step {
			out = append(out, v[i:i+size]...)
		}
		return out
	}
	ours := list(func(key []byte) ([]byte, uapi.Errno) { return UserNextKey(d.m, key) }, func(key []byte) []byte {
		v, _ := UserLookup(d.m, key, nil, 0)
		return trim(v)
	})
	theirs := list(func(key []byte) ([]byte, uapi.Errno) {
		out := make([]byte, s.KeySize)
		return out, d.k.do(cmdNextKey, key, out, 0)
	}, func(key []byte) []byte {
		v := make([]byte, d.k.size)
		if d.k.do(cmdLookup, key, v, 0) != 0 {
			return nil
		}
		return trim(v)
	})
	assert.Equal(d.t, theirs, ours, "contents (want: the kernel's)")
}
