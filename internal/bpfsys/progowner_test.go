package bpfsys_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// lsm loads a program for a hook.
func (k *caller) lsm(hook string, flags int) int {
	return k.must(k.load(uapi.ProgTypeLSM, exitZero, field{44, flags}, field{68, int(uapi.AttachLSMMac)}, field{108, k.typeID(btf.KindFunc, "bpf_lsm_"+hook)}, field{112, 0}))
}

// stores loads a program that uses a new map of cgroup storage.
func (k *caller) stores() int {
	fd, r := k.create(uapi.MapTypeCgroupStorage)
	m := k.must(fd, r.errno)
	return k.must(k.load(uapi.ProgTypeCgroupSkb, []decode.Insn{{Code: 0x18, Dst: 1, Src: 1, Imm: int32(m)}, {}, {Code: 0xb7, Imm: 1}, {Code: 0x95}}))
}

// tailCaller is a program that calls into a program array.
func (k *caller) tailCaller(array int) []decode.Insn {
	return []decode.Insn{
		{Code: 0x18, Dst: 2, Src: 1, Imm: int32(array)}, {}, {Code: 0xb7, Dst: 3}, {Code: 0x85, Imm: int32(uapi.FuncTailCall)}, {Code: 0xb7}, {Code: 0x95},
	}
}

func (k *caller) programArray() int {
	return k.must(k.createMap(uapi.MapTypeProgArray, 4, 4, 4, 0))
}

// putProgram stores a program in a program array.
func (k *caller) putProgram(array, prog int) uapi.Errno {
	_, e, _ := k.call(mapUpdate, field{0, array}, field{8, k.room(4)}, field{16, k.put(le.AppendUint32(nil, uint32(prog)))}, field{24, uint64(0)})
	return e
}

// together puts two programs into an array and returns what came of the second.
func (k *caller) together(a, b int) uapi.Errno {
	array := k.programArray()
	k.must(0, k.putProgram(array, a))
	return k.putProgram(array, b)
}

// TestProgramArraysHoldProgramsOfOneKind: what makes programs of a kind depends on the version
// (bpf_prog_map_compatible).
func TestProgramArraysHoldProgramsOfOneKind(t *testing.T) {
	spec := newestKernel(t)
	always := []string{"5.10.0", "6.12.0", "7.2.0"}
	for _, tt := range []struct {
		name         string
		call         func(k *caller) uapi.Errno
		allow, other []string // versions that allow it, and that do not
	}{
		{"program types", func(k *caller) uapi.Errno {
			return k.together(k.must(k.load(uapi.ProgTypeXDP, exitZero)), k.must(k.load(uapi.ProgTypeSocketFilter, exitZero)))
		}, nil, always},
		{"hooks with the same prototype", func(k *caller) uapi.Errno { return k.together(k.lsm("file_open", 0), k.lsm("file_receive", 0)) }, always, nil},
		{"hooks with different prototypes", func(k *caller) uapi.Errno { return k.together(k.lsm("file_open", 0), k.lsm("bprm_check_security", 0)) },
			[]string{"5.10.0", "6.1.134", "6.6.86", "6.11.3"}, []string{"5.15.215", "6.1.135", "6.6.87", "6.11.4", "6.12.0", "7.2.0"}},
		{"programs that sleep with others", func(k *caller) uapi.Errno { return k.together(k.lsm("file_open", 16), k.lsm("file_open", 0)) },
			[]string{"5.11.0", "6.19.0"}, []string{"7.0.0"}},
		{"attach types", func(k *caller) uapi.Errno {
			return k.together(k.must(k.load(uapi.ProgTypeCgroupSkb, exitZero)), k.must(k.load(uapi.ProgTypeCgroupSkb, exitZero, field{68, int(uapi.AttachCgroupInetEgress)})))
		}, []string{"5.10.0", "6.1.155", "6.12.52", "6.17.0"}, []string{"6.1.156", "6.6.150", "6.12.53", "6.18.0"}},
		{"entries and returns", func(k *caller) uapi.Errno {
			load := func(at uapi.AttachType) int {
				return k.must(k.load(uapi.ProgTypeTracing, exitZero, append([]field{{68, int(at)}}, k.target(uapi.ProgTypeTracing, at)...)...))
			}
			return k.together(load(uapi.AttachTraceFentry), load(uapi.AttachTraceFexit))
		}, []string{"5.10.0", "6.17.0"}, []string{"6.18.0"}},
		{"cgroup storage", func(k *caller) uapi.Errno { return k.together(k.stores(), k.stores()) },
			[]string{"5.10.0", "6.1.150", "6.12.45", "6.16.0"}, []string{"6.1.151", "6.6.150", "6.12.46", "6.17.0"}},
		{"programs without storage", func(k *caller) uapi.Errno {
			return k.together(k.stores(), k.must(k.load(uapi.ProgTypeCgroupSkb, exitZero)))
		}, always, nil},
		{"programs without storage that make tail calls", func(k *caller) uapi.Errno {
			return k.together(k.stores(), k.must(k.load(uapi.ProgTypeCgroupSkb, k.tailCaller(k.programArray()))))
		}, []string{"5.10.0", "6.1.178", "6.12.96", "6.18.0", "7.1.4"}, []string{"6.6.150", "6.12.97", "7.1.5", "7.2.0"}},
		{"callers of another type", func(k *caller) uapi.Errno {
			array := k.programArray()
			k.must(0, k.putProgram(array, k.must(k.load(uapi.ProgTypeSocketFilter, exitZero))))
			_, e := k.load(uapi.ProgTypeXDP, k.tailCaller(array))
			return e
		}, nil, always},
		{"programs of another type than a caller's", func(k *caller) uapi.Errno {
			array := k.programArray()
			k.must(k.load(uapi.ProgTypeXDP, k.tailCaller(array)))
			return k.putProgram(array, k.must(k.load(uapi.ProgTypeSocketFilter, exitZero)))
		}, nil, always},
		{"extensions of a caller's type", func(k *caller) uapi.Errno {
			x := k.extensible()
			array := k.programArray()
			k.must(0, k.putProgram(array, k.must(k.load(uapi.ProgTypeXDP, exitZero))))
			_, r := x.extend(x.sub, k.tailCaller(array))
			return r.errno
		}, []string{"6.0.19", "6.2.0"}, []string{"6.0.18"}},
	} {
		for i, versions := range [][]string{tt.allow, tt.other} {
			for _, name := range versions {
				_, version, ok := loader.ParseRelease(name)
				assert.True(t, ok, name)
				k := &caller{newTaskOn(t, loader.NewTarget(name, spec, loader.WithVersion(version))), spec}
				want := []uapi.Errno{0, uapi.EINVAL}[i]
				assert.Equal(t, want, tt.call(k), "%s on %s: %v", tt.name, name, k.notes)
			}
		}
	}
}

// Packets in several buffers are for programs that know of them (bpf_prog_map_compatible).
func TestMapsOfProgramsKeepPacketsInSeveralBuffersApart(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	plain, frags := k.must(k.load(uapi.ProgTypeXDP, exitZero)), k.must(k.load(uapi.ProgTypeXDP, exitZero, field{44, 32}))
	assert.Equal(t, uapi.EINVAL, k.together(plain, frags))
	assert.Equal(t, uapi.EINVAL, k.together(frags, plain))
	assert.Zero(t, k.together(frags, frags))
}

// TestCallsOfUnverifiedProgramsMayLeadAnywhere: programs for kernels of vendors are not verified, and
// are compared with those of their maps before anything looks at their calls.
func TestCallsOfUnverifiedProgramsMayLeadAnywhere(t *testing.T) {
	spec := newestKernel(t)
	k := &caller{newTaskOn(t, loader.NewTarget("6.1.178-1.el9.x86_64", spec)), spec}
	array := k.programArray()
	k.must(0, k.putProgram(array, k.stores()))
	for imm, want := range map[int32]uapi.Errno{-100: uapi.EINVAL, math.MinInt32: uapi.EINVAL, math.MaxInt32: 0} { // beyond its end are no tail calls
		insns := append([]decode.Insn{{Code: 0x85, Src: 1, Imm: imm}}, k.tailCaller(array)...)
		_, e := k.load(uapi.ProgTypeCgroupSkb, insns)
		assert.Equal(t, want, e, imm)
	}
}
