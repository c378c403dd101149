package helpers

import (
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/testing/recording"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Programs whose effects were recorded from a running kernel (testdata/recorded/*.json.gz). Each
// runs here and must do the same. With -record, as root on Linux 6.18, they are recorded again;
// nothing is attached or pinned.

// scratchSize is the size of the memory programs write their results to: a map value that r7 points
// to. Its first half takes the results of calls, 8 bytes each.
const scratchSize = 2048

const dataAt = 1024 // where a program's own data starts

// recorded is a program in assembly text, as calls or plain lines.
type recorded struct {
	name string
	typ  uapi.ProgType
	// attach and flags are those of BPF_PROG_LOAD.
	attach uapi.AttachType
	flags  uint32
	steps  []string
	// maps are the maps from index 2 on; 0 is the scratch memory, 1 is read-only memory with ro in
	// it.
	maps []maps.Spec
	init string // of the scratch memory, from dataAt on
	ro   string
	data []byte // packet
	ctx  []byte
	// later: the kernel that recorded it is laterRelease.
	later bool
	// ret lets the program return r0 of its last call.
	ret bool
	// ignore lists result slots that depend on the kernel's environment.
	ignore []int
}

// outcome is what a program did.
type outcome struct {
	Refused string `json:"refused,omitempty"` // errno of BPF_PROG_LOAD
	Errno   string `json:"errno,omitempty"`   // of BPF_PROG_TEST_RUN
	Ret     uint32 `json:"ret"`
	Scratch string `json:"scratch,omitempty"` // hex without trailing zeros
	Data    string `json:"data,omitempty"`
	Ctx     string `json:"ctx,omitempty"`
}

// Arguments of call.
type (
	ctxArg struct{}
	at     int // pointer to scratch memory
	ro     int // pointer to read-only memory
	inMap  int // map
	onFP   int // pointer to the stack
	raw    string
)

var ctx ctxArg

// do is a call whose result is kept in the next result slot.
func do(fn string, args ...any) string {
	var b strings.Builder
	for i, a := range args {
		r := i + 1
		switch a := a.(type) {
		case ctxArg:
			fmt.Fprintf(&b, "r%d = r6\n", r)
		case at:
			fmt.Fprintf(&b, "r%d = r7\nr%d += %d\n", r, r, int(a))
		case ro:
			fmt.Fprintf(&b, "r%d = map_value(1, %d)\n", r, int(a))
		case inMap:
			fmt.Fprintf(&b, "r%d = map_fd(%d)\n", r, int(a))
		case onFP:
			fmt.Fprintf(&b, "r%d = r10\nr%d += %d\n", r, r, int(a))
		case raw:
			fmt.Fprintf(&b, "r%d = %s\n", r, string(a))
		case int:
			fmt.Fprintf(&b, "r%d = %d ll\n", r, a)
		case rune:
			fmt.Fprintf(&b, "r%d = %d\n", r, a)
		case uint64:
			fmt.Fprintf(&b, "r%d = %#x ll\n", r, a)
		default:
			panic(fmt.Sprintf("argument %T", a))
		}
	}
	fmt.Fprintf(&b, "call %s\nkeep r0\n", fn)
	return b.String()
}

var callName = regexp.MustCompile(`call (kfunc )?(bpf_\w+)`)

// assemble makes instructions of a program; kfuncs are numbered in the order of their first call.
func (c *recorded) assemble(t testing.TB) (insns []decode.Insn, kfuncs []string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("r6 = r1\nr7 = map_value(0, 0)\n")
	slot := 0
	body := strings.Join(c.steps, "\n")
	for _, line := range strings.Split(body, "\n") {
		if reg, ok := strings.CutPrefix(strings.TrimSpace(line), "keep "); ok {
			line = fmt.Sprintf("*(u64 *)(r7 + %d) = %s", 8*slot, reg)
			slot++
		}
		line = callName.ReplaceAllStringFunc(line, func(s string) string {
			m := callName.FindStringSubmatch(s)
			if m[1] != "" {
				for i, k := range kfuncs {
					if k == m[2] {
						return fmt.Sprintf("call kfunc#%d, 0", i)
					}
				}
				kfuncs = append(kfuncs, m[2])
				return fmt.Sprintf("call kfunc#%d, 0", len(kfuncs)-1)
			}
			id, ok := uapi.ParseFuncID(m[2])
			require.True(t, ok, m[2])
			return fmt.Sprintf("call %d", id)
		})
		b.WriteString(line + "\n")
	}
	require.LessOrEqual(t, 8*slot, dataAt)
	if !strings.Contains(body, "exit") {
		if !c.ret {
			b.WriteString("r0 = 0\n")
		}
		b.WriteString("exit\n")
	}
	insns, err := decode.Assemble(b.String())
	require.NoError(t, err, b.String())
	return insns, kfuncs
}

func (c *recorded) scratch() []byte {
	b := make([]byte, scratchSize)
	copy(b[dataAt:], c.init)
	return b
}

func (c *recorded) readOnly() []byte {
	b := make([]byte, 256)
	copy(b, c.ro)
	return b
}

func (c *recorded) packet() []byte {
	switch c.typ {
	case uapi.ProgTypeSyscall, uapi.ProgTypeRawTracepoint, uapi.ProgTypeSkLookup:
		return nil
	}
	if c.data == nil {
		return net.DefaultPacket()
	}
	return c.data
}

func trimZeros(b []byte) string { return strings.TrimRight(hex.EncodeToString(b), "0") }

// clean zeroes the result slots that must not be compared.
func (c *recorded) clean(scratch []byte) []byte {
	for _, i := range c.ignore {
		clear(scratch[8*i : 8*i+8])
	}
	return scratch
}

// simulate runs the program here.
func (c *recorded) simulate(t testing.TB) outcome {
	t.Helper()
	r := (*rig)(nil)
	if c.later {
		r = newestRig(t)
	} else {
		r = newRig(t, newest)
	}
	s := r.newMap(maps.Spec{Name: "scratch", Type: uapi.MapTypeArray, KeySize: 4, ValueSize: scratchSize, MaxEntries: 1})
	require.Zero(t, s.Update(maps.AllCPUs, make([]byte, 4), c.scratch(), 0))
	o := r.newMap(maps.Spec{Name: "ro", Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 256, MaxEntries: 1, Flags: uapi.MapRdonlyProg})
	require.Zero(t, o.Update(maps.AllCPUs, make([]byte, 4), c.readOnly(), 0))
	for _, spec := range c.maps {
		r.newMap(spec)
	}
	insns, kfuncs := c.assemble(t)
	img := r.lower(insns, kfuncs)
	spec := hook.ContextSpec{Packet: c.packet(), Bytes: c.ctx}
	if c.typ == uapi.ProgTypeRawTracepoint {
		spec.AttachTo, spec.Section, spec.Bytes = "sys_enter", "raw_tp/sys_enter", nil
	}
	spec.Attach, spec.ProgType = c.attach, c.typ
	if _, err := r.kernel.NewContext(spec); err != nil {
		var errno uapi.Errno
		require.ErrorAs(t, err, &errno)
		return outcome{Errno: errno.Error()}
	}
	k := r.context(c.typ, spec)
	ret, f := r.run(img, k.Addr)
	if f != nil {
		return outcome{Refused: f.Error()}
	}
	require.NoError(t, r.kernel.Err())
	base, errno := s.(maps.ValueBase).DirectValue(0)
	require.Zero(t, errno)
	out := outcome{Ret: uint32(ret), Scratch: trimZeros(c.clean(r.bytes(base, scratchSize)))}
	out.Data = hex.EncodeToString(k.Out())
	if c.ctx != nil && c.typ != uapi.ProgTypeRawTracepoint {
		out.Ctx = trimZeros(k.CtxOut()[:len(c.ctx)])
	}
	return out
}

// describe turns an outcome into lines that show the results as numbers.
func (o outcome) describe() []string {
	var out []string
	if o.Refused != "" {
		return []string{"refused: " + o.Refused}
	}
	if o.Errno != "" {
		return []string{"test run: " + o.Errno}
	}
	out = append(out, fmt.Sprintf("ret %#x", o.Ret))
	h := o.Scratch
	if len(h)%2 != 0 {
		h += "0"
	}
	b, _ := hex.DecodeString(h)
	b = append(b, make([]byte, 8)...)
	for i := 0; i+8 <= len(b) && i < dataAt; i += 8 {
		out = append(out, fmt.Sprintf("result %d: %d", i/8, int64(binary.LittleEndian.Uint64(b[i:]))))
	}
	if len(b) > dataAt {
		out = append(out, "memory "+hex.EncodeToString(b[dataAt:]))
	}
	return append(out, "data "+o.Data, "ctx "+o.Ctx)
}

// difference lists the lines that differ.
func difference(want, got []string) []string {
	var out []string
	for i := range max(len(want), len(got)) {
		var w, g string
		if i < len(want) {
			w = want[i]
		}
		if i < len(got) {
			g = got[i]
		}
		if w != g {
			out = append(out, fmt.Sprintf("the kernel: %s\nhere:       %s", w, g))
		}
	}
	return out
}

func goldenPath(group string) string { return filepath.Join("testdata", "recorded", group+".json.gz") }

// outcomes reads what a kernel did with a group of programs.
func outcomes(t *testing.T, group string) map[string]outcome {
	t.Helper()
	file, err := os.Open(goldenPath(group))
	require.NoError(t, err)
	defer file.Close()
	text, err := gzip.NewReader(file)
	require.NoError(t, err)
	want := map[string]outcome{}
	require.NoError(t, json.NewDecoder(text).Decode(&want))
	return want
}

// replay compares a group of programs with their recorded outcomes.
func replay(t *testing.T, group string, cases []recorded) {
	t.Helper()
	names := map[string]bool{}
	for _, c := range cases {
		require.False(t, names[c.name], "two cases %q", c.name)
		names[c.name] = true
	}
	if *recording.Flag {
		record(t, group, cases)
	}
	want := outcomes(t, group)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w, ok := want[c.name]
			require.True(t, ok, "not recorded: run with -record as root on Linux 6.18, of the later release with scripts/cases-vm.sh")
			if w.Refused != "" {
				if strings.HasPrefix(c.name, "refused: ") {
					assert.NotEmpty(t, c.simulate(t).Refused, "the verifier refuses it")
				}
				return // the kernel does not load it: what would happen is not defined
			}
			assert.False(t, strings.HasPrefix(c.name, "refused: "), "the kernel loads it")
			for _, d := range difference(w.describe(), c.simulate(t).describe()) {
				assert.Fail(t, d)
			}
		})
	}
}
