package bpfsys_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// link attaches an extension, to the function that it was loaded for or to another.
func (x *extensible) link(prog int64, target, fn int) (int64, uapi.Errno) {
	fd, r := x.try(uapi.CmdLinkCreate, field{0, int(prog)}, field{4, target}, field{8, 0}, field{12, 0}, field{16, fn})
	return fd, r.errno
}

// verdict is what a test run of the program returns.
func (x *extensible) verdict(t *testing.T) uint32 {
	packet := x.put(make([]byte, 64))
	_, e, a := x.call(testRun, field{0, x.prog}, field{8, 64}, field{16, packet}, field{68, 0})
	require.Zero(t, e, "%v", x.notes)
	return le.Uint32(a[4:])
}

func TestExtensionsRunInPlaceOfWhatTheyReplace(t *testing.T) {
	x := newCaller(t, newestKernel(t)).extensible()
	require.EqualValues(t, 0, x.verdict(t))
	two, r := x.extend(x.sub, returning(2))
	require.Zero(t, r.errno, "%v", r.notes)
	link, e := x.link(two, 0, 0)
	require.Zero(t, e)
	assert.EqualValues(t, 2, x.verdict(t))
	other, r := x.extend(x.sub, returning(3))
	require.Zero(t, r.errno)
	_, e = x.link(other, 0, 0)
	assert.Equal(t, uapi.EBUSY, e, "the function is replaced")
	_, e = x.link(two, 0, 0)
	assert.Equal(t, uapi.EINVAL, e, "the second time without a target")
	_, e = x.link(two, x.prog, 9999)
	assert.Equal(t, uapi.EINVAL, e, "no such function")
	_, e = x.link(two, int(two), x.sub)
	assert.Equal(t, uapi.EINVAL, e, "an extension of an extension")
	_, e = x.link(two, 900, x.sub)
	assert.Equal(t, uapi.EBADF, e)
	first, r := x.extend(x.main, returning(1))
	require.Zero(t, r.errno, "%v", r.notes)
	whole, e := x.link(first, 0, 0)
	require.Zero(t, e)
	assert.EqualValues(t, 1, x.verdict(t), "the first function is all that runs")
	x.close(whole)
	assert.EqualValues(t, 2, x.verdict(t))
	array := x.must(x.createMap(uapi.MapTypeProgArray, 4, 4, 1, 0))
	put := func() uapi.Errno {
		_, r := x.try(uapi.CmdMapUpdateElem, field{0, array}, field{8, x.room(4)}, field{16, x.put(le.AppendUint32(nil, uint32(x.prog)))}, field{24, uint64(0)})
		return r.errno
	}
	assert.Equal(t, uapi.EBUSY, put(), "an extended program in a program array would loop")
	x.close(link)
	assert.EqualValues(t, 0, x.verdict(t), "as before")
	assert.Zero(t, put())
	empty := x.must(x.createMap(uapi.MapTypeProgArray, 4, 4, 1, 0))
	_, r = x.try(uapi.CmdMapUpdateElem, field{0, empty}, field{8, x.room(4)}, field{16, x.put(le.AppendUint32(nil, uint32(other)))}, field{24, uint64(0)})
	assert.Equal(t, uapi.EINVAL, r.errno, "an extension in a program array")
	_, e = x.link(other, 0, 0)
	assert.Equal(t, uapi.EBUSY, e, "a program in a program array")
	assert.Equal(t, uapi.EINVAL, func() uapi.Errno { _, e := x.link(two, 0, 0); return e }())
}

// An extension has its own maps, functions and type information.
func TestExtensionsKeepTheirMaps(t *testing.T) {
	x := newCaller(t, newestKernel(t)).extensible()
	m := x.must(x.createMap(uapi.MapTypeArray, 4, 8, 1, 0))
	// *value += 1; return 3
	insns := []decode.Insn{
		{Code: 0x18, Dst: 1, Src: 2, Imm: int32(m)}, {}, {Code: 0x79, Dst: 0, Src: 1}, {Code: 0x07, Imm: 1}, {Code: 0x7b, Dst: 1, Src: 0}, {Code: 0xb7, Imm: 3}, {Code: 0x95},
	}
	ext, r := x.extend(x.sub, insns)
	require.Zero(t, r.errno, "%v", r.notes)
	link, e := x.link(ext, 0, 0)
	require.Zero(t, e)
	x.close(ext)
	for range 3 {
		assert.EqualValues(t, 3, x.verdict(t))
	}
	out := x.room(8)
	_, r = x.try(uapi.CmdMapLookupElem, field{0, m}, field{8, x.room(4)}, field{16, out}, field{24, uint64(0)})
	require.Zero(t, r.errno)
	assert.EqualValues(t, 3, le.Uint64(x.at(out, 8)))
	x.close(int64(m))
	x.close(int64(x.prog)) // the link holds all of them
	assert.Len(t, x.s.Objects(bpfsys.KindProg), 2)
	x.close(link)
	assert.Empty(t, x.s.Objects(bpfsys.KindProg))
	assert.Empty(t, x.s.Objects(bpfsys.KindMap))
}

// traces loads a program that adds a word of its context to *value when the function returns: what
// the function returned.
func (x *extensible) traces(fn, m int) int {
	insns := []decode.Insn{
		{Code: 0x79, Dst: 3, Src: 1, Off: 8}, {Code: 0x18, Dst: 1, Src: 2, Imm: int32(m)}, {}, {Code: 0x79, Dst: 0, Src: 1},
		{Code: 0x0f, Src: 3}, {Code: 0x07, Imm: 100}, {Code: 0x7b, Dst: 1, Src: 0}, {Code: 0xb7}, {Code: 0x95},
	}
	return x.must(x.load(uapi.ProgTypeTracing, insns, field{68, int(uapi.AttachTraceFexit)}, field{108, fn}, field{112, x.prog}))
}

// trace attaches a tracing program as libbpf does.
func (x *extensible) trace(prog int) (int64, uapi.Errno) {
	fd, r := x.try(uapi.CmdRawTracepointOpen, field{0, uint64(0)}, field{8, prog})
	return fd, r.errno
}

// TestTracingProgramsRunWithTheirFunctions: fexit of a function of a program sees what it returned,
// at each call of a test run.
func TestTracingProgramsRunWithTheirFunctions(t *testing.T) {
	x := newCaller(t, newestKernel(t)).extensible()
	m := x.must(x.createMap(uapi.MapTypeArray, 4, 8, 1, 0))
	two, r := x.extend(x.main, returning(2))
	require.Zero(t, r.errno)
	var links []int64
	for _, fn := range []int{x.sub, x.main} {
		link, e := x.trace(x.traces(fn, m))
		require.Zero(t, e, "%v", x.notes)
		links = append(links, link)
	}
	assert.Zero(t, x.verdict(t))
	sum := func() uint64 {
		v, e := x.read(int64(m), x.room(4))
		require.Zero(t, e)
		return v
	}
	assert.EqualValues(t, 200, sum(), "both functions returned 0")
	_, e := x.link(two, 0, 0)
	assert.Equal(t, uapi.EBUSY, e, "the function is traced")
	x.close(links[1])
	_, e = x.link(two, 0, 0)
	require.Zero(t, e)
	assert.EqualValues(t, 2, x.verdict(t))
	assert.EqualValues(t, 200, sum(), "the function that is traced was not called")
	_, e = x.trace(x.traces(x.main, m))
	assert.Equal(t, uapi.EBUSY, e, "the function is replaced")
}

// TestAFunctionHasALimitedNumberOfPrograms (BPF_MAX_TRAMP_LINKS): those of the kernel and those of
// programs.
func TestAFunctionHasALimitedNumberOfPrograms(t *testing.T) {
	x := newCaller(t, newestKernel(t)).extensible()
	m := x.must(x.createMap(uapi.MapTypeArray, 4, 8, 1, 0))
	for _, load := range []func() int{
		func() int { return x.traces(x.sub, m) },
		func() int {
			fd, r := x.program(uapi.ProgTypeTracing, uapi.AttachTraceFentry)
			return x.must(fd, r.errno)
		},
	} {
		for range 38 {
			_, e := x.trace(load())
			require.Zero(t, e)
		}
		_, e := x.trace(load())
		assert.Equal(t, uapi.E2BIG, e)
	}
	prog := x.must(func() (int64, uapi.Errno) {
		fd, r := x.program(uapi.ProgTypeTracing, uapi.AttachTraceFexit)
		return fd, r.errno
	}())
	_, e := x.trace(prog)
	assert.Equal(t, uapi.E2BIG, e, "of both kinds together")
}

// loadOn loads a program that attaches to a function of the program, and returns the log.
func (x *extensible) loadOn(typ uapi.ProgType, at uapi.AttachType, fn int, insns []decode.Insn, more ...field) (string, uapi.Errno) {
	log := x.room(4096)
	_, e := x.load(typ, insns, append([]field{{68, int(at)}, {108, fn}, {112, x.prog}, {24, 1}, {28, 4096}, {32, log}}, more...)...)
	text, _, _ := strings.Cut(string(x.at(log, 4096)), "\x00")
	return text, e
}

// TestExtensionsInheritTheAttachType: what a program may return can depend on it, and an extension
// returns in its place.
func TestExtensionsInheritTheAttachType(t *testing.T) {
	x := newCaller(t, newestKernel(t)).extensibleOf(uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet4Connect, "bpf_sock_addr", returning(1))
	text, e := x.loadOn(uapi.ProgTypeExt, 0, x.main, returning(1), x.info(btf.ID(x.main))...)
	require.Zero(t, e, "%s %v", text, x.notes)
	text, e = x.loadOn(uapi.ProgTypeExt, 0, x.main, returning(9), x.info(btf.ID(x.main))...)
	assert.Equal(t, uapi.EINVAL, e)
	assert.Contains(t, text, "At program exit the register R0 has")
	sender := newCaller(t, newestKernel(t)).extensibleOf(uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet4Bind, "bpf_sock_addr", returning(1))
	_, e = sender.loadOn(uapi.ProgTypeExt, 0, sender.main, returning(3), sender.info(btf.ID(sender.main))...)
	assert.Zero(t, e, "bind may return up to 3")
}

// TestWhatMayAttachToPrograms (bpf_check_attach_target).
func TestWhatMayAttachToPrograms(t *testing.T) {
	x := newCaller(t, newestKernel(t)).extensible()
	for at, want := range map[uapi.AttachType]string{
		uapi.AttachTraceFentry:  "",
		uapi.AttachTraceFexit:   "",
		uapi.AttachModifyReturn: "can't modify return codes of BPF programs\n",
		uapi.AttachTraceRawTp:   "Only FENTRY/FEXIT/FSESSION progs are attachable to another BPF prog\n",
	} {
		text, e := x.loadOn(uapi.ProgTypeTracing, at, x.sub, returning(0))
		text, _, _ = strings.Cut(text, "processed ")
		assert.Equal(t, want, text, "%v", at)
		assert.Equal(t, want != "", e == uapi.EINVAL, "%v: %v", at, e)
	}
	_, e := x.loadOn(uapi.ProgTypeTracing, uapi.AttachTraceIter, x.sub, returning(0))
	assert.Equal(t, uapi.EINVAL, e)
	text, e := x.loadOn(uapi.ProgTypeTracing, uapi.AttachTraceFentry, x.sub, returning(0), field{44, 16})
	assert.Equal(t, uapi.EINVAL, e)
	assert.Contains(t, text, "sub is not sleepable\n")
}

// TestTheFirstFunctionNeedsATypedContext: from 6.8 on, a program whose only parameter is not its
// context by type counts as one whose types are unknown.
func TestTheFirstFunctionNeedsATypedContext(t *testing.T) {
	for _, tt := range []struct {
		minor   uint32
		context string
		refused bool
	}{{12, "xdp_md", false}, {12, "other", true}, {8, "other", true}, {7, "other", false}} {
		spec := newestKernel(t)
		k := &caller{newTaskOn(t, loader.NewTarget("6.x", spec, loader.WithVersion(6<<16|tt.minor<<8))), spec}
		x := k.extensibleOf(uapi.ProgTypeXDP, 0, tt.context, returning(0))
		text, e := x.loadOn(uapi.ProgTypeExt, 0, x.main, returning(0), x.info(btf.ID(x.main))...)
		assert.Equal(t, tt.refused, strings.HasPrefix(text, "Cannot replace static functions\n"), "6.%d %s: %s", tt.minor, tt.context, text)
		if tt.refused {
			assert.Equal(t, uapi.EINVAL, e)
		}
		// Without types, a tracing program sees five numbers and the result.
		_, e = x.loadOn(uapi.ProgTypeTracing, uapi.AttachTraceFexit, x.main, []decode.Insn{{Code: 0x79, Dst: 0, Src: 1, Off: 40}, {Code: 0xb7}, {Code: 0x95}})
		assert.Equal(t, tt.refused, e == 0, "6.%d %s", tt.minor, tt.context)
	}
}

// TestTracingAnExtension: its argument is the context of the program that it extends, in the
// kernel's form.
func TestTracingAnExtension(t *testing.T) {
	x := newCaller(t, newestKernel(t)).extensible()
	ext, r := x.extend(x.sub, returning(2))
	require.Zero(t, r.errno)
	data, _ := memberOf(t, x.kernel, btf.ID(x.typeID(btf.KindStruct, "xdp_buff")), "data")
	x.prog = int(ext)
	text, e := x.loadOn(uapi.ProgTypeTracing, uapi.AttachTraceFentry, x.sub, []decode.Insn{
		{Code: 0x79, Dst: 2, Src: 1}, {Code: 0x79, Src: 2, Off: int16(data)}, {Code: 0xb7}, {Code: 0x95}, // r0 = ctx[0]->data
	})
	assert.Zero(t, e, "%s %v", text, x.notes)
}
