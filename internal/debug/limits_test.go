package debug

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/assembly"
	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/loader"
)

// text starts the program p of an assembly text.
func text(t testing.TB, source string) *Session {
	t.Helper()
	data, err := assembly.Object("typed.s", source, nil)
	require.NoError(t, err)
	s := openBytes(t, "typed.o", data)
	_, err = s.Start("p")
	require.NoError(t, err)
	return s
}

// stripped opens an object as it is without some of its sections.
func stripped(t testing.TB, path string, sections ...string) *Session {
	t.Helper()
	data, err := os.ReadFile("../../" + path)
	require.NoError(t, err)
	for _, name := range sections {
		data = bytes.ReplaceAll(data, []byte(name), append([]byte("-"), name[1:]...))
	}
	return openBytes(t, path, data)
}

// TestFramesAreAsDeepAsTheirStores: a frame is as large as the deepest offset from r10, through
// copies of it, as long as a register is one.
func TestFramesAreAsDeepAsTheirStores(t *testing.T) {
	for text, want := range map[string]int{
		"exit":                                       0,
		"*(u8 *)(r10 - 1) = 0":                       8,
		"*(u64 *)(r10 - 8) = r1":                     8,
		"*(u64 *)(r10 - 9) = r1":                     16,
		"r2 = r10\nr2 += -24":                        24,
		"r2 = r10\nr2 += 24":                         0,
		"r2 = r10\nr2 += -512":                       512,
		"r2 = r10\nr2 += -513":                       0, // no address of the frame
		"r2 = r10\nr3 = r2\nr3 += -40":               40,
		"r2 = r10\nr2 += -8\nr2 += -16":              8, // what was added to is no copy
		"r2 = r10\nr2 = 5\nr2 += -16":                0,
		"r2 = r10\nw2 = 5\nr2 += -16":                0,
		"r2 = r10\nr2 = 5 ll\nr2 += -16":             0,
		"r2 = r10\nr2 = *(u64 *)(r1 + 0)\nr2 += -16": 0,
		"r2 = r10\nr3 = *(u64 *)(r1 + 0)\nr2 += -16": 16,
		"r2 = r10\n*(u64 *)(r1 + 0) = r2\nr2 += -16": 16,
		"r2 = r1\nr2 += -16":                         0,
		"r2 = r10\nif r1 == 0 goto +0\nr2 += -32":    32,
	} {
		insns, err := decode.Assemble(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, frameSize(&loader.LinkedProgram{Insns: insns}, loader.Func{Len: len(insns)}), text)
	}
}

// TestWhichRegistersInstructionsWrite: calls write the result and their arguments, no other ones.
func TestWhichRegistersInstructionsWrite(t *testing.T) {
	for text, want := range map[string][]int{
		"call 5":                      {0, 1, 2, 3, 4, 5},
		"r3 = r7":                     {3},
		"*(u64 *)(r10 - 8) = r1":      nil,
		"r4 = *(u64 *)(r10 - 8)":      {4},
		"exit":                        nil,
		"lock *(u64 *)(r2 + 0) += r3": nil,
		"r3 = atomic_fetch_add((u64 *)(r2 + 0), r3)": {3},
	} {
		insns, err := decode.Assemble(text)
		require.NoError(t, err, text)
		var got []int
		for reg := range 11 {
			if writes(insns[0], insns[0].Info(), reg) {
				got = append(got, reg)
			}
		}
		assert.Equal(t, want, got, text)
	}
}

// TestImagesOfOtherMachinesAreNowhere: an image is a place only in the session of its machine.
func TestImagesOfOtherMachinesAreNowhere(t *testing.T) {
	a := started(t, "internal/debug/testdata/long.o", "loop")
	b := started(t, "internal/debug/testdata/long.o", "loop")
	img := a.m.Thread().Image()
	assert.Equal(t, "loop", a.place(img, 3).Prog.Name)
	assert.Equal(t, Place{}, b.place(img, 3))
	assert.Equal(t, Place{}, a.place(nil, 3))
}

// TestJumpsStayInTheirFunction in both directions.
func TestJumpsStayInTheirFunction(t *testing.T) {
	s := started(t, "internal/debug/testdata/locals-O1-dwarf5.o", "locals")
	_, err := s.Break("fill", false)
	require.NoError(t, err)
	_, err = s.Continue(bg)
	require.NoError(t, err)
	f, ok := s.Here().Func()
	require.True(t, ok)
	require.Equal(t, "fill", f.Name)
	require.Positive(t, f.Start)
	for pc, inside := range map[int]bool{f.Start - 1: false, f.Start: true, f.Start + f.Len - 1: true, 0: false} {
		_, err = s.Jump("*" + itoa(pc))
		if inside {
			require.NoError(t, err, pc)
			assert.Equal(t, pc, s.Here().PC)
			continue
		}
		assert.ErrorContains(t, err, "not in the current function, fill", pc)
	}
}

// TestWhatIsAtAnAddress: instructions, variables, fields, memory, and nothing.
func TestWhatIsAtAnAddress(t *testing.T) {
	s := started(t, "internal/debug/testdata/locals-O1-dwarf5.o", "locals")
	code := s.m.Thread().Image().FuncAddr(2)
	assert.Contains(t, s.WhatIs(code), "instruction 2 of locals: locals at ")
	seen, ok := s.Points("seen")
	require.True(t, ok)
	assert.Equal(t, "seen (.bss)", s.globalName(seen))
	assert.Equal(t, "seen+16 (.bss)", s.globalName(seen+16))
	assert.Equal(t, "seen+63 (.bss)", s.globalName(seen+63))
	assert.NotContains(t, s.globalName(seen+64), "seen+64 (")
	assert.Contains(t, s.WhatIs(0), "nothing is mapped there")
}

// TestWhatPoints: values in memory, pointers, and numbers in registers that are addresses; a number
// that was computed is none, whatever it equals.
func TestWhatPoints(t *testing.T) {
	s := started(t, "internal/debug/testdata/locals-O1-dwarf5.o", "locals")
	seen, ok := s.Points("seen")
	require.True(t, ok)
	for text, want := range map[string]bool{
		"seen.delta": true, "&seen": true, "$r1": true, "$r10": true, "(unsigned long long)&seen": false, "7": false, "$r0": false, "nothing": false, "\"text\"": false,
	} {
		at, ok := s.Points(text)
		assert.Equal(t, want, ok, text)
		if text == "&seen" {
			assert.Equal(t, seen, at)
		}
	}
}

// TestArgumentsNeedARun: names of arguments mean something while the program runs only.
func TestArgumentsNeedARun(t *testing.T) {
	s := stripped(t, "internal/debug/testdata/locals-O1-dwarf5.o", ".debug_")
	var unknown *expr.UnknownError
	_, _, err := s.parameter("ctx")
	require.NoError(t, err)
	_, err = s.Eval("n")
	require.ErrorAs(t, err, &unknown)
	_, err = s.Start("locals")
	require.NoError(t, err)
	_, known, err := s.parameter("ctx")
	require.NoError(t, err)
	assert.True(t, known)
	_, err = s.Continue(bg)
	require.NoError(t, err)
	require.Equal(t, Ended, s.State())
	_, known, err = s.parameter("ctx")
	require.NoError(t, err)
	assert.False(t, known)
}

// TestListings: without a source file, the lines with code are known; where nothing runs, a listing
// begins at the program that start would run; without line information there is none.
func TestListings(t *testing.T) {
	s := open(t, "internal/debug/testdata/long.o")
	file, line, err := s.ListAround("")
	require.NoError(t, err)
	assert.Equal(t, s.Files()[0], file)
	assert.Contains(t, lineText(t, s, line), "int loop(")
	s.dirs, s.sources = nil, map[string]source{}
	lines, err := s.List(file, 1, 1000)
	require.NoError(t, err)
	known := 0
	for _, l := range lines {
		assert.Equal(t, l.Code, l.Known, l.Line)
		if l.Known {
			known++
		} else {
			assert.Empty(t, l.Text)
		}
	}
	assert.Positive(t, known)
	_, err = s.Start("")
	require.NoError(t, err)
	_, err = s.Break(lineWithText(t, s, "total +="), true)
	require.NoError(t, err)
	_, err = s.Continue(bg)
	require.NoError(t, err)
	_, line, err = s.ListAround("")
	require.NoError(t, err)
	assert.Contains(t, lineText(t, s, line), "total +=", "where the program stands")

	bare := stripped(t, "internal/debug/testdata/long.o", ".BTF.ext", ".debug_")
	for range 2 {
		_, _, err = bare.ListAround("")
		assert.ErrorContains(t, err, "no line information here")
		_, err = bare.Start("loop")
		require.NoError(t, err)
	}
}

// TestPrintedSoFar: the trace log has what the program wrote up to where the session stands.
func TestPrintedSoFar(t *testing.T) {
	s := text(t, `.prog p xdp
    r1 = 0x6968
    *(u64 *)(r10 - 8) = r1
    r1 = r10
    r1 += -8
    r2 = 3
    call bpf_trace_printk
    r0 = 2
    exit
`)
	assert.Empty(t, s.Printed())
	_, err := s.Continue(bg)
	require.NoError(t, err)
	require.Equal(t, Ended, s.State())
	assert.Len(t, s.Printed(), 1)
	for pos, want := range []int{0, 0, 0, 0, 0, 0, 1, 1} {
		_, err = s.GoTo(bg, uint64(pos))
		require.NoError(t, err)
		require.Equal(t, Running, s.State())
		assert.Len(t, s.Printed(), want, pos)
	}
	s.Reset()
	assert.Empty(t, s.Printed())
}

// TestWhyPassesByLaterChanges: what the user changed after a value was read is no origin of it.
func TestWhyPassesByLaterChanges(t *testing.T) {
	const source = `.prog p xdp
    r1 = 7
    *(u64 *)(r10 - 8) = r1
    r2 = *(u64 *)(r10 - 8)
    r3 = *(u64 *)(r10 - 8)
    r0 = 2
    exit
`
	for pos, want := range map[uint64][2]bool{2: {true, true}, 3: {false, true}, 4: {false, false}} {
		s := text(t, source)
		_, err := s.GoTo(bg, pos)
		require.NoError(t, err)
		_, err = s.Assign("*(unsigned long long *)($r10 - 8) = 9")
		require.NoError(t, err)
		_, err = s.GoTo(bg, 5)
		require.NoError(t, err)
		for i, reg := range []string{"$r2", "$r3"} {
			o, err := s.Why(bg, reg)
			require.NoError(t, err)
			if want[i] {
				assert.Contains(t, steps(o), "set by you", "%s, changed after %d", reg, pos)
			} else {
				assert.NotContains(t, steps(o), "set by you", "%s, changed after %d", reg, pos)
			}
		}
	}
}

// TestWhyNamesRelocations of the instructions that computed a value.
func TestWhyNamesRelocations(t *testing.T) {
	s := started(t, "examples/exec/exec.bpf.o", "on_exec")
	_, err := s.Break("core:task_struct.real_parent", true)
	require.NoError(t, err)
	_, err = s.Continue(bg)
	require.NoError(t, err)
	reg := itoa(int(s.Here().Prog.Insns[s.Here().PC].Dst))
	_, err = s.StepInsn(bg, 1)
	require.NoError(t, err)
	o, err := s.Why(bg, "$r"+reg)
	require.NoError(t, err)
	assert.Contains(t, steps(o), "; CO-RE ")
	o, err = s.Why(bg, "$r10")
	require.NoError(t, err)
	assert.NotContains(t, steps(o), "CO-RE")
}

// TestHintsNameTheMap in which a lookup found nothing.
func TestHintsNameTheMap(t *testing.T) {
	s := started(t, "testdata/objects/clang-14/filtered.o", "exit_openat")
	d, err := s.WhyNot(bg, HasEffect)
	require.NoError(t, err)
	require.Len(t, d.Hints, 1)
	assert.Equal(t, "maps: {started: {KEY: VALUE}}, or a program that stores it, run before", d.Hints[0].Key)
}

// TestWatchesOfVariablesAreAboutTheirActivation: a callee's variable of the same name is another one.
func TestWatchesOfVariablesAreAboutTheirActivation(t *testing.T) {
	s := started(t, "internal/debug/testdata/locals-O1-dwarf5.o", "locals")
	_, err := s.Break("fill", false)
	require.NoError(t, err)
	_, err = s.Continue(bg)
	require.NoError(t, err)
	require.Equal(t, "8", print(t, s, "sizeof(list)"))
	require.NoError(t, s.SelectFrame(1))
	require.Equal(t, "32", print(t, s, "sizeof(list)"))
	w, err := s.AddWatch("sizeof(list) + 0", false, true)
	require.NoError(t, err)
	require.True(t, w.framed)
	require.True(t, w.Soft())
	st, err := s.Continue(bg)
	require.NoError(t, err)
	assert.Equal(t, Exited, st.Reason)
}

// TestWatchesThatAreOff do not stop the program, and see what changed meanwhile as known when they
// are on again.
func TestWatchesThatAreOff(t *testing.T) {
	for _, watch := range []string{"seen.sum", "seen.sum + 1"} {
		for _, off := range []bool{false, true} {
			s := started(t, "internal/debug/testdata/locals-O1-dwarf5.o", "locals")
			w, err := s.AddWatch(watch, false, true)
			require.NoError(t, err)
			require.Equal(t, watch != "seen.sum", w.Soft())
			require.NoError(t, s.Enable(w.ID, !off))
			st, err := s.Continue(bg)
			require.NoError(t, err)
			assert.Equal(t, off, st.Reason == Exited, "%s: %v", watch, st.Reason)
		}
	}
}

// TestWatchesWithoutTypes: an object without types has no arguments that a name could mean.
func TestWatchesWithoutTypes(t *testing.T) {
	s := stripped(t, "internal/debug/testdata/long.o", ".BTF", ".debug_")
	require.Nil(t, s.linked.Object.BTF)
	_, err := s.Start("loop")
	require.NoError(t, err)
	w, err := s.AddWatch("7 + current", false, true)
	require.NoError(t, err)
	assert.False(t, w.outcomes.positional)
}
