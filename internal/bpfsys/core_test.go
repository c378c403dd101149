package bpfsys_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// described is type information of one function and of structs, as a light skeleton passes it.
type described struct {
	raw                    []byte
	fn, task, anon, absent btf.ID
}

// describedTask has a struct task_struct with two fields of kernels and one that they have not, and
// structs that have no counterpart.
func describedTask(t *testing.T) described {
	b := btf.NewBuilder(nil)
	num := b.Int("int", 4, btf.IntSigned)
	var d described
	d.task = b.Struct("task_struct", 12, btf.Member{Name: "pid", Type: num}, btf.Member{Name: "tgid", Type: num, BitOffset: 32}, btf.Member{Name: "no_such_field", Type: num, BitOffset: 64})
	d.anon = b.Struct("", 4, btf.Member{Name: "pid", Type: num})
	d.absent = b.Struct("no_such_struct", 4, btf.Member{Name: "pid", Type: num})
	proto := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: num, Params: []btf.Param{{Name: "ctx", Type: b.Ptr(b.Struct("xdp_md", 0))}}})
	d.fn = b.Add(btf.Type{Kind: btf.KindFunc, Name: "main_prog", Ref: proto, Linkage: btf.LinkageGlobal})
	var err error
	d.raw, err = b.Marshal(le)
	require.NoError(t, err)
	for _, access := range []string{"0", "0:0", "0:1", "0:2", "0:9", "x"} { // the strings are the last part
		d.raw = append(append(d.raw, access...), 0)
		le.PutUint32(d.raw[20:], le.Uint32(d.raw[20:])+uint32(len(access)+1))
	}
	return d
}

// record is a CO-RE record in the notation of the kernel's interface.
func (d *described) record(off int, typ btf.ID, access string, kind int) []byte {
	text := bytes.Index(d.raw, []byte("\x00"+access+"\x00")) + 1 - 24 - int(le.Uint32(d.raw[16:]))
	if access == "<?>" {
		text = 1 << 20
	}
	var b []byte
	for _, v := range []int{off, int(typ), text, kind} {
		b = le.AppendUint32(b, uint32(v))
	}
	return b
}

// TestRecordsOfALoadAreApplied passes CO-RE records with a program. The error numbers, instructions
// and logs are those of Linux 6.18.44.
func TestRecordsOfALoadAreApplied(t *testing.T) {
	const byteOff, exists, localID = 0, 2, 6
	spec := newestKernel(t)
	id, _ := spec.FindID(btf.KindStruct, "task_struct")
	d := describedTask(t)
	found := "CO-RE relocating STRUCT task_struct: found target candidate [ID]\n"
	pid := "prog '': relo #0: <byte_off> [2] STRUCT task_struct.pid (0:0 @ offset 0)\nprog '': relo #0: matching candidate #0 <byte_off> [ID] STRUCT task_struct.pid (0:NUM @ offset OFF)\n"
	good := d.record(0, d.task, "0:0", byteOff)
	for _, tt := range []struct {
		name    string
		imm     int32 // of the first instruction, r0 = imm
		records []byte
		more    []field
		errno   uapi.Errno
		want    string // r0 = want, of the loaded program
		log     string // at level 1, without the line about the verification
	}{
		{name: "the offset of a field", records: good, want: "OFF"},
		{name: "two records", imm: 0, records: append(good[:16:16], d.record(16, d.task, "0:1", byteOff)...), more: []field{{116, 2}}, want: "OFF"},
		{name: "records of another size", records: append(good[:16:16], make([]byte, 236)...), more: []field{{136, 252}}, want: "OFF"},
		{name: "the type's own id", imm: int32(d.task), records: d.record(0, d.task, "0", localID), want: fmt.Sprint(d.task)},
		{name: "a field that is not there", imm: 1, records: d.record(0, d.task, "0:2", exists), want: "0"},
		{name: "a struct that is not there", imm: 1, records: d.record(0, d.absent, "0:0", exists), want: "0"},
		{name: "without function information", records: good, more: []field{{88, 0}}, want: "0"},
		{
			name: "an offset of nothing", records: d.record(0, d.task, "0:2", byteOff), errno: uapi.EINVAL,
			log: found + "prog '': relo #0: <byte_off> [2] STRUCT task_struct.no_such_field (0:2 @ offset 8)\nprog '': relo #0: non-matching candidate #0 <byte_off> [ID] STRUCT task_struct (0 @ offset 0)\n" +
				"prog '': relo #0: no matching targets found\nprog '': relo #0: substituting insn #0 w/ invalid insn\n0: R1=ctx() R10=fp0\n0: (85) call unknown#195896080\ninvalid func unknown#195896080\n",
		},
		{name: "records that are too small", records: good, more: []field{{136, 12}}, errno: uapi.EINVAL},
		{name: "records of no multiple of four", records: good, more: []field{{136, 18}}, errno: uapi.EINVAL},
		{name: "records that are too large", records: append(good[:16:16], make([]byte, 240)...), more: []field{{136, 256}}, errno: uapi.EINVAL},
		{name: "more than a later kernel's fields", records: append(good[:16:16], 1, 0, 0, 0), more: []field{{136, 20}}, errno: uapi.E2BIG, log: "nonzero tailing record in core_relo"},
		{name: "more records than memory", records: good, more: []field{{116, 1 << 28}}, errno: uapi.EINVAL},
		{name: "records of nothing", records: good, more: []field{{128, uint64(0)}}, errno: uapi.EFAULT},
		{name: "inside an instruction", records: d.record(4, d.task, "0:0", byteOff), errno: uapi.EINVAL, log: "Invalid core_relo[0].insn_off:4 prog->len:4\n"},
		{name: "behind the program", records: d.record(32, d.task, "0:0", byteOff), errno: uapi.EINVAL, log: "Invalid core_relo[0].insn_off:32 prog->len:4\n"},
		{name: "an unknown type", records: d.record(0, 999, "0:0", byteOff), errno: uapi.EINVAL, log: "relo #0: bad type id 999\n"},
		{name: "a type without a name", records: d.record(0, d.anon, "0:0", byteOff), errno: uapi.EINVAL, log: fmt.Sprintf("target candidate search failed for %d\n", d.anon)},
		{name: "no path", records: d.record(0, d.task, "x", byteOff), errno: uapi.EINVAL, log: found + "prog '': relo #0: parsing [2] STRUCT task_struct + x failed: -22\n"},
		{name: "a path of nothing", records: d.record(0, d.task, "0:9", byteOff), errno: uapi.EINVAL, log: found + "prog '': relo #0: parsing [2] STRUCT task_struct + 0:9 failed: -22\n"},
		{name: "a path behind the strings", records: d.record(0, d.task, "<?>", byteOff), errno: uapi.EINVAL, log: found + "prog '': relo #0: parsing [2] STRUCT task_struct + <?> failed: -22\n"},
		{name: "an unknown kind", records: d.record(0, d.task, "0:0", 99), errno: uapi.EINVAL, log: found + "prog '': relo #0: parsing [2] STRUCT task_struct + 0:0 failed: -22\n"},
		{name: "an instruction with another value", imm: 77, records: good, errno: uapi.EINVAL, log: found + pid + "prog '': relo #0: unexpected insn #0 (ALU/ALU64) value: got 77, exp 0 -> OFF\n"},
		{
			name: "an instruction without a value", records: d.record(24, d.task, "0:0", byteOff), errno: uapi.EINVAL,
			log: found + pid + "prog '': relo #0: trying to relocate unrecognized insn #3, code:0x95, src:0x0, dst:0x0, off:0x0, imm:0x0\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newCaller(t, spec)
			off, index := memberOf(t, spec, id, "pid")
			measured := strings.NewReplacer("OFF", fmt.Sprint(off), "NUM", fmt.Sprint(index), "ID", fmt.Sprint(id))
			types, e, _ := k.call(btfLoad, field{0, k.put(d.raw)}, field{16, len(d.raw)}, field{24, 0})
			require.Zero(t, e)
			funcs := le.AppendUint32(make([]byte, 4), uint32(d.fn))
			log := k.room(4096)
			fields := []field{
				{72, int(types)}, {76, 8}, {80, k.put(funcs)}, {88, 1}, {116, 1}, {128, k.put(tt.records)}, {136, 16}, {24, 1}, {28, 4096}, {32, log},
			}
			insns := []decode.Insn{{Code: 0xb7, Imm: tt.imm}, {Code: 0x05}, {Code: 0xb7, Dst: 1, Imm: 4}, {Code: 0x95}} // r0 = imm; goto +0; r1 = 4; exit
			p, e := k.load(uapi.ProgTypeXDP, insns, append(fields, tt.more...)...)
			require.Equal(t, tt.errno, e, "%v", k.notes)
			text, _, _ := strings.Cut(string(k.at(log, 4096)), "\x00")
			at := strings.Index(text, "processed ")
			require.GreaterOrEqual(t, at, 0, text)
			assert.Equal(t, measured.Replace(tt.log), text[:at], "nothing of a success")
			if e != 0 {
				return
			}
			packet := k.room(64)
			_, e, a := k.call(testRun, field{0, int(p)}, field{8, 64}, field{16, packet}, field{68, 0})
			require.Zero(t, e, "%v", k.notes)
			assert.Equal(t, measured.Replace(tt.want), fmt.Sprint(le.Uint32(a[4:])))
			info, code := k.room(232), k.room(32)
			le.PutUint32(k.at(info, 232)[20:], 32)
			le.PutUint64(k.at(info, 232)[32:], code)
			_, e, _ = k.call(infoByFD, field{0, int(p)}, field{4, 232}, field{8, info})
			require.Zero(t, e)
			assert.Equal(t, measured.Replace(tt.want), fmt.Sprint(le.Uint32(k.at(code+4, 4))), "the instructions that the kernel returns")
		})
	}
}

// memberOf returns the offset in bytes and the number of a struct's member.
func memberOf(t *testing.T, spec *btf.Spec, id btf.ID, name string) (off, index int) {
	typ := spec.MustType(id)
	for i := range typ.Members {
		if typ.Members[i].Name == name {
			bits, _ := spec.MemberBits(typ, &typ.Members[i])
			return int(bits / 8), i
		}
	}
	require.FailNow(t, "no member "+name)
	return 0, 0
}
