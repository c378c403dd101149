//go:build linux

package bpfsys_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/testing/recording"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
	"github.com/bpfrun/bpfrun/loader"
)

const recordedFields = "testdata/fields-6.18.44.txt.gz"

// sweep makes calls that would succeed with each of their fields changed, one at a time, and writes
// a line for each field: its values and what they are answered. Nothing is attached or pinned.
type sweep struct {
	k   *task
	out strings.Builder
}

// makesFD lists the commands whose result is a descriptor.
var makesFD = []uint32{mapCreate, progLoad, btfLoad, progByID, mapByID, 19, 30}

func (s *sweep) call(cmd uint32, attr []byte) string {
	used := s.k.used
	addr := s.k.put(attr)
	var v int64
	var e uapi.Errno
	if s.k.native != nil {
		v, e = s.k.native(cmd, addr, len(attr))
	} else {
		x := s.k.s.Call(s.k, cmd, addr, uint32(len(attr)), 0, 0)
		if e = x.Errno; x.File != nil {
			v = int64(s.k.next)
			s.k.files[s.k.next] = *x.File
			s.k.next++
		}
	}
	s.k.used = used
	if e != 0 {
		return e.Name()
	}
	if slices.Contains(makesFD, cmd) {
		s.k.close(v)
	}
	return "ok"
}

// answers joins values and their answers, those with the same in one group.
type answers struct {
	order  []string
	values map[string][]string
}

func (a *answers) add(value, answer string) {
	if a.values == nil {
		a.values = map[string][]string{}
	}
	if a.values[answer] == nil {
		a.order = append(a.order, answer)
	}
	a.values[answer] = append(a.values[answer], value)
}

func (s *sweep) line(name, field string, a *answers) {
	fmt.Fprintf(&s.out, "%s %s:", name, field)
	for _, answer := range a.order {
		fmt.Fprintf(&s.out, " %s:%s", answer, strings.Join(a.values[answer], ","))
	}
	s.out.WriteByte('\n')
}

// small are numbers next to limits that many fields have.
var small = []uint64{0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 14, 15, 16, 17, 31, 32, 33, 64}

// valuesOf returns what a field is changed to, by its kind: flags are changed bit by bit, pointers
// to bad ones, descriptors to bad ones, sizes of memory and amounts only to small ones.
func valuesOf(f bpfattr.Field, now uint64) []uint64 {
	switch {
	case strings.HasSuffix(f.Name, "_fd"):
		return []uint64{0, 1<<32 - 1}
	case strings.Contains(f.Name, "flags") || f.Name == "log_level" || f.Name == "btf_log_level":
		var bits []uint64
		for bit := range 8 * f.Size {
			if f.Size == 4 || bit < 6 || bit%31 == 1 {
				bits = append(bits, now^1<<bit)
			}
		}
		return bits
	case f.Size == 8 && f.Name != "map_extra":
		return []uint64{0, 1, 1<<47 - 8}
	}
	values := append([]uint64{now + 1}, small...)
	amount := slices.ContainsFunc([]string{"size", "entries", "repeat", "count"}, func(s string) bool { return strings.Contains(f.Name, s) })
	if now > 0 {
		values = append(values, now-1)
	}
	if !amount && f.Size == 4 {
		values = append(values, 1<<31-2, 1<<31-1, 1<<31, 1<<32-1)
	}
	return values
}

// fields changes each field of a call but some, then its size.
func (s *sweep) fields(name string, cmd uint32, fields []bpfattr.Field, attr []byte, not ...string) {
	whole := &answers{}
	whole.add("", s.call(cmd, attr))
	s.line(name, "as it is", whole)
	for _, f := range fields {
		if slices.Contains(not, f.Name) || f.Size > 8 || int(f.At+f.Size) > len(attr) {
			continue
		}
		a := &answers{}
		read := func() uint64 {
			if f.Size == 8 {
				return le.Uint64(attr[f.At:])
			}
			return uint64(le.Uint32(attr[f.At:]))
		}
		for _, v := range valuesOf(f, read()) {
			c := bytes.Clone(attr)
			if f.Size == 8 {
				le.PutUint64(c[f.At:], v)
			} else {
				le.PutUint32(c[f.At:], uint32(v))
			}
			a.add(fmt.Sprintf("%x", v&(1<<(8*f.Size)-1)), s.call(cmd, c))
		}
		s.line(name, f.Name, a)
	}
	sizes := &answers{}
	for n := 4; n <= len(attr); n += 4 {
		sizes.add(fmt.Sprint(n), s.call(cmd, attr[:n]))
	}
	s.line(name, "cut", sizes)
	after := &answers{}
	for _, n := range []int{len(attr), len(attr) + 4, 164, 168, 172} {
		if n < len(attr) {
			continue
		}
		longer := make([]byte, n+4)
		copy(longer, attr)
		longer[n] = 1
		after.add(fmt.Sprint(n), s.call(cmd, longer))
	}
	s.line(name, "what follows", after)
}

// maps creates maps of every type, and calls every command on elements of those that exist.
func (s *sweep) maps(t *testing.T) {
	k := s.k
	key, value, cursor := k.put(make([]byte, 256)), k.put(bytes.Repeat([]byte{1, 0, 0, 0}, 128)), k.room(64)
	inner, e := k.createMap(uapi.MapTypeArray, 4, 4, 1, 0)
	require.Zero(t, e)
	for typ := uapi.MapTypeHash; typ <= uapi.MapTypeArena; typ++ {
		b, known := bases[typ]
		if !known {
			b = [4]int{4, 4, 4, 0}
		}
		attr := union(field{0, int(typ)}, field{4, b[0]}, field{8, b[1]}, field{12, b[2]}, field{16, b[3]}, field{28, "m"}, field{88, 0})
		not := []string{"inner_map_fd"}
		if typ == uapi.MapTypeArrayOfMaps || typ == uapi.MapTypeHashOfMaps {
			le.PutUint32(attr[20:], uint32(inner))
			not = nil
		}
		s.fields("create "+typ.String(), mapCreate, bpfattr.MapCreatePart.Fields, attr, append(not, "map_type", "btf_fd", "value_type_btf_obj_fd")...)
		fd, _, _ := k.call(mapCreate, field{0, int(typ)}, field{4, b[0]}, field{8, b[1]}, field{12, b[2]}, field{16, b[3]}, field{20, int(inner)}, field{28, "m"})
		if typ != uapi.MapTypeArrayOfMaps && typ != uapi.MapTypeHashOfMaps {
			var e uapi.Errno
			if fd, e, _ = k.call(mapCreate, field{0, int(typ)}, field{4, b[0]}, field{8, b[1]}, field{12, b[2]}, field{16, b[3]}, field{28, "m"}); e != 0 {
				continue
			}
		}
		for _, c := range []struct {
			name string
			cmd  uint32
			attr []byte
		}{
			{"lookup in empty", mapLookup, union(field{0, int(fd)}, field{8, key}, field{16, value}, field{24, uint64(0)})},
			{"update", mapUpdate, union(field{0, int(fd)}, field{8, key}, field{16, value}, field{24, uint64(0)})},
			{"lookup", mapLookup, union(field{0, int(fd)}, field{8, key}, field{16, cursor}, field{24, uint64(0)})},
			{"next", mapNextKey, union(field{0, int(fd)}, field{8, key}, field{16, cursor})},
			{"lookup and delete", lookupDelete, union(field{0, int(fd)}, field{8, key}, field{16, cursor}, field{24, uint64(0)})},
			{"delete", mapDelete, union(field{0, int(fd)}, field{8, key})},
		} {
			s.fields(c.name+" "+typ.String(), c.cmd, bpfattr.ElemPart.Fields, c.attr)
		}
		keys, values := k.put([]byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), k.put(make([]byte, 1024))
		for _, c := range []struct {
			name string
			cmd  uint32
		}{{"update batch", updateBatch}, {"lookup batch", lookupBatch}, {"lookup and delete batch", lookupDeleteBatch}, {"delete batch", deleteBatch}} {
			not := []string{"batch.in_batch"}
			if strings.Contains(typ.String(), "hash") {
				not = append(not, "batch.count") // which elements share a bucket depends on a random number
			}
			s.fields(c.name+" "+typ.String(), c.cmd, bpfattr.BatchPart.Fields,
				union(field{8, cursor}, field{16, keys}, field{24, values}, field{32, 2}, field{36, int(fd)}, field{48, uint64(0)}), not...)
		}
		s.fields("info "+typ.String(), infoByFD, bpfattr.InfoPart.Fields, union(field{0, int(fd)}, field{4, 88}, field{8, k.put(make([]byte, 256))}))
		s.fields("freeze "+typ.String(), mapFreeze, bpfattr.ElemPart.Fields[:1], union(field{0, int(fd)}))
		k.close(fd)
	}
	k.close(inner)
}

// bases has sizes of keys and values, numbers of entries and flags of map types that are not made
// with four everywhere.
var bases = map[uapi.MapType][4]int{
	uapi.MapTypeStackTrace:          {4, 8, 4, 0},
	uapi.MapTypeLPMTrie:             {8, 4, 4, uapi.MapNoPrealloc},
	uapi.MapTypeQueue:               {0, 4, 4, 0},
	uapi.MapTypeStack:               {0, 4, 4, 0},
	uapi.MapTypeRingbuf:             {0, 0, 4096, 0},
	uapi.MapTypeUserRingbuf:         {0, 0, 4096, 0},
	uapi.MapTypeBloomFilter:         {0, 4, 4, 0},
	uapi.MapTypeSkStorage:           {4, 4, 0, uapi.MapNoPrealloc},
	uapi.MapTypeInodeStorage:        {4, 4, 0, uapi.MapNoPrealloc},
	uapi.MapTypeTaskStorage:         {4, 4, 0, uapi.MapNoPrealloc},
	uapi.MapTypeCgrpStorage:         {4, 4, 0, uapi.MapNoPrealloc},
	uapi.MapTypeCgroupStorage:       {8, 4, 0, 0},
	uapi.MapTypePercpuCgroupStorage: {8, 4, 0, 0},
}

// programs loads programs of every type, and test-runs them.
func (s *sweep) programs(t *testing.T) {
	k := s.k
	code, license := k.put([]byte{0xb7, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0}), k.text("GPL")
	log, packet, room := k.room(8192), k.put(make([]byte, 256)), k.room(256)
	load := func(typ uapi.ProgType, more ...field) []byte {
		return union(append([]field{{0, int(typ)}, {4, 2}, {8, code}, {16, license}, {48, "p"}, {164, 0}}, more...)...)
	}
	s.fields("load", progLoad, bpfattr.ProgLoadPart.Fields, load(uapi.ProgTypeSocketFilter), "prog_type")
	s.fields("load with a log", progLoad, bpfattr.ProgLoadPart.Fields[4:7], load(uapi.ProgTypeSocketFilter, field{24, 1}, field{28, 8192}, field{32, log}))
	for typ := uapi.ProgType(0); typ <= uapi.ProgTypeNetfilter+1; typ++ {
		a := &answers{}
		for at := range uapi.AttachTraceFsession + 1 {
			a.add(fmt.Sprint(int(at)), s.call(progLoad, load(typ, field{68, int(at)})))
		}
		s.line(fmt.Sprintf("load type %d", typ), "attach types", a)
		a = &answers{}
		for bit := range 32 {
			a.add(fmt.Sprint(bit), s.call(progLoad, load(typ, field{44, 1 << bit})))
		}
		s.line(fmt.Sprintf("load type %d", typ), "flags", a)
		fd, e, _ := k.call(progLoad, field{0, int(typ)}, field{4, 2}, field{8, code}, field{16, license}, field{48, "p"}, field{164, 0})
		if e != 0 {
			continue
		}
		s.fields(fmt.Sprintf("run type %d", typ), testRun, bpfattr.TestPart.Fields,
			union(field{0, int(fd)}, field{8, 64}, field{12, 64}, field{16, packet}, field{24, room}, field{72, 0}), "test.retval", "test.duration", "test.cpu")
		s.fields(fmt.Sprintf("run type %d without data", typ), testRun, bpfattr.TestPart.Fields, union(field{0, int(fd)}, field{72, 0}), "test.retval", "test.duration", "test.cpu")
		s.fields(fmt.Sprintf("info type %d", typ), infoByFD, bpfattr.InfoPart.Fields, union(field{0, int(fd)}, field{4, 232}, field{8, k.put(make([]byte, 256))}))
		m, e := k.createMap(uapi.MapTypeArray, 4, 4, 1, 0)
		require.Zero(t, e)
		s.fields(fmt.Sprintf("bind type %d", typ), 35, bpfattr.ProgBindMapPart.Fields, union(field{0, int(fd)}, field{4, int(m)}, field{8, 0}))
		k.close(m)
		k.close(fd)
	}
}

// others makes the other commands with descriptors and ids of nothing, so that they attach nothing.
func (s *sweep) others(t *testing.T) {
	k := s.k
	raw := types(t)
	at := k.put(raw)
	s.fields("BTF", btfLoad, bpfattr.BtfLoadPart.Fields, union(field{0, at}, field{16, len(raw)}, field{36, 0}), "btf_size")
	for cmd := uint32(0); cmd < 45; cmd++ {
		a := &answers{}
		for _, size := range []int{4, 8, 16, 40, 64, 168} {
			nothing := bytes.Repeat([]byte{0xff}, size)
			a.add(fmt.Sprint(size), s.call(cmd, nothing))
		}
		s.line(fmt.Sprintf("command %d", cmd), "of ones", a)
	}
	for _, cmd := range []uint32{progNextID, mapNextID, 23, 31} {
		a := &answers{}
		for _, from := range []int32{1<<31 - 2, 1<<31 - 1, -1 << 31, -1} {
			a.add(fmt.Sprintf("%x", uint32(from)), s.call(cmd, union(field{0, from}, field{4, 0})))
		}
		s.line(fmt.Sprintf("next id, command %d", cmd), "start_id", a)
	}
	for _, cmd := range []uint32{progByID, mapByID, 19, 30} {
		s.fields(fmt.Sprintf("by id, command %d", cmd), cmd, bpfattr.ObjectIDPart.Fields, union(field{0, 1<<31 - 2}, field{12, 0}), "start_id", "next_id", "prog_id", "map_id", "btf_id", "link_id")
	}
	nobody := int32(-1)
	for _, c := range []struct {
		name  string
		cmd   uint32
		place int // of the attach type
		attr  []byte
	}{
		{"attach", progAttach, 8, union(field{0, nobody}, field{4, nobody}, field{24, uint64(0)})},
		{"detach", progDetach, 8, union(field{0, nobody}, field{4, nobody}, field{24, uint64(0)})},
		{"query", progQuery, 4, union(field{0, nobody}, field{56, uint64(0)})},
		{"link", linkCreate, 8, union(field{0, nobody}, field{4, nobody}, field{48, uint64(0)})},
	} {
		for _, flags := range []int{0, 1, 2, 4, 8, 16, 32, 64} {
			a := &answers{}
			for typ := range uapi.AttachTraceFsession + 1 {
				attr := bytes.Clone(c.attr)
				le.PutUint32(attr[c.place:], uint32(typ))
				le.PutUint32(attr[12:], uint32(flags))
				if c.cmd == progQuery {
					le.PutUint32(attr[8:], uint32(flags))
					le.PutUint32(attr[12:], 0)
				}
				a.add(fmt.Sprint(int(typ)), s.call(c.cmd, attr))
			}
			s.line(fmt.Sprintf("%s with flags %d", c.name, flags), "attach types", a)
		}
	}
}

// types is BTF of one int.
func types(t *testing.T) []byte {
	b := btf.NewBuilder(nil)
	b.Int("int", 4, btf.IntSigned)
	raw, err := b.Marshal(le)
	require.NoError(t, err)
	return raw
}

func (s *sweep) all(t *testing.T) string {
	s.maps(t)
	s.programs(t)
	s.others(t)
	return s.out.String()
}

// TestFieldsAreCheckedAsByTheKernel compares what calls with one changed field are answered with
// Linux 6.18.44, where it was recorded with -record.
func TestFieldsAreCheckedAsByTheKernel(t *testing.T) {
	if *recording.Flag {
		recording.Write(t, recordedFields, (&sweep{k: hostTask(t, 32, 20*time.Millisecond)}).all(t))
	}
	want := recording.Read(t, recordedFields)
	// The types must have the union of that release; its size is in them.
	sys, err := bpfsys.New(bpfsys.Config{Target: loader.NewTarget("linux-6.18.44", newestKernel(t), loader.WithVersion(6<<16|18<<8|44)), Machine: machine.Config{Uncovered: true, Unwatched: true}})
	require.NoError(t, err)
	defer sys.Close()
	k := &task{s: sys, mem: make([]byte, 1<<22), base: 1<<46 | base, files: map[int32]bpfsys.File{0: {Kind: bpfsys.OtherFile}, 1: {Kind: bpfsys.OtherFile}, 2: {Kind: bpfsys.OtherFile}}, next: 3}
	compare(t, want, (&sweep{k: k}).all(t))
}

// otherwise says where answers differ from the recording's, and why.
var otherwise = []struct{ lines, why string }{
	{"map_ifindex$", "maps of network devices are not simulated"},
	{"^(attach|detach|query) with flags", "which of several mistakes is reported first"},
	{"^load type 20 ", "the kernel that was asked has no infrared receivers (CONFIG_BPF_LIRC_MODE2)"},
	{"(load|run|info|bind) type 20( |$)", "the same"},
	{"^load type (26|28|29) ", "which of several mistakes is reported first"},
	{"^load signature", "keys are not simulated"},
	{"^info type [0-9]+ info.info_len", "programs here have no native code to report"},
}

func known(about string) string {
	for _, o := range otherwise {
		if regexp.MustCompile(o.lines).MatchString(about) {
			return o.why
		}
	}
	return ""
}

// compare compares the lines of two runs by what they are about.
func compare(t *testing.T, want, got string) {
	t.Helper()
	byField := func(text string) map[string]string {
		lines := map[string]string{}
		for line := range strings.Lines(text) {
			about, answers, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			lines[about] = answers
		}
		return lines
	}
	theirs, ours := byField(want), byField(got)
	for about, answers := range theirs {
		if known(about) == "" {
			assert.Equal(t, answers, ours[about], about)
		}
	}
	for about := range ours {
		assert.True(t, theirs[about] != "" || known(about) != "", about)
	}
}
