package debug

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/internal/subsys"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lineWith finds the line of the locals program that has a mark.
func lineWith(t *testing.T, s *Session, mark string) string {
	t.Helper()
	lines, err := s.List(s.Files()[0], 1, 1000)
	require.NoError(t, err)
	for _, l := range lines {
		if strings.Contains(l.Text, "// "+mark) {
			return s.Files()[0] + ":" + itoa(int(l.Line))
		}
	}
	t.Fatalf("no line has the mark %q", mark)
	return ""
}

// builds are those of locals.bpf.c: clang 14, unless said otherwise.
var builds = []string{
	"O1-dwarf4", "O2-dwarf4", "O1-dwarf5", "O2-dwarf5", "clang22-O1-dwarf4", "clang22-O2-dwarf4", "clang22-O1-dwarf5", "clang22-O2-dwarf5",
}

// arrayLost reports whether a build's debug information has a number for the array that is on the
// stack (clang 22 at -O2).
func arrayLost(build string) bool { return strings.HasPrefix(build, "clang22-O2") }

// TestLocalsInScopes: variables of nested scopes, of callees and of inlined functions, at the line
// that stores them. Where a compiler says of no place what a variable is, the debugger says so; it
// never shows another value.
func TestLocalsInScopes(t *testing.T) {
	seen := map[string]int{}
	for _, build := range builds {
		t.Run(build, func(t *testing.T) {
			s := started(t, "internal/debug/testdata/locals-"+build+".o", "locals")
			for _, mark := range []string{"nested", "callee", "inlined"} {
				_, err := s.Break(lineWith(t, s, mark), false)
				require.NoError(t, err)
			}
			got := map[string]string{}
			for {
				st, err := s.Continue(bg)
				require.NoError(t, err)
				if st.Reason != AtBreakpoint {
					break
				}
				for _, name := range []string{"chosen", "delta", "area"} {
					if v, err := s.Eval(name); err == nil {
						got[name] = s.Format(v, expr.FormatOptions{})
						seen[name]++
					}
				}
			}
			for name, stored := range map[string]string{"chosen": "seen.chosen", "delta": "seen.delta", "area": "seen.product"} {
				if v, ok := got[name]; ok {
					assert.Equal(t, print(t, s, stored), v, name)
				}
			}
		})
	}
	for _, name := range []string{"chosen", "delta", "area"} {
		assert.Positive(t, seen[name], "some build knows %s", name)
	}
}

// TestLocals compares local variables with what the program itself stored of them.
func TestLocals(t *testing.T) {
	for _, build := range builds {
		t.Run(build, func(t *testing.T) {
			s := started(t, "internal/debug/testdata/locals-"+build+".o", "locals")
			require.NoError(t, s.DWARFError())
			require.True(t, s.HasDWARF())
			_, err := s.Break(lineWith(t, s, "end"), false)
			require.NoError(t, err)
			st, err := s.Continue(bg)
			require.NoError(t, err)
			require.Equal(t, AtBreakpoint, st.Reason)
			got := map[string]string{}
			for _, e := range []string{"shape.kind", "shape.sides", "shape.area", "shape.dx", "list[0]", "list[3]", "*last", "n", "last - &list[0]", "sum"} {
				v, err := s.Eval(e)
				if err != nil {
					var un *expr.UnavailableError
					require.ErrorAs(t, err, &un, e)
					continue
				}
				got[e] = s.Format(v, expr.FormatOptions{})
			}
			locals, err := s.Locals()
			require.NoError(t, err)
			assert.Greater(t, len(locals), 4)
			st, err = s.Continue(bg)
			require.NoError(t, err)
			require.Equal(t, Exited, st.Reason)
			for text, stored := range map[string]string{
				"shape.kind": "seen.kind", "shape.sides": "seen.sides", "shape.area": "seen.area", "list[0]": "seen.first", "list[3]": "seen.last",
				"*last": "seen.last", "n": "input", "sum": "seen.sum",
			} {
				if v, ok := got[text]; ok {
					assert.Equal(t, print(t, s, stored), v, text)
				}
			}
			assert.Equal(t, "-9", got["shape.dx"])
			required := []string{"shape.kind", "*last", "sum"}
			if !arrayLost(build) {
				required = append(required, "list[0]")
				assert.Equal(t, "3", got["last - &list[0]"])
			}
			for _, must := range required {
				assert.Contains(t, got, must, "is available in this build")
			}
		})
	}
}

func TestLocalsOfCallers(t *testing.T) {
	s := started(t, "internal/debug/testdata/locals-O2-dwarf5.o", "locals")
	_, err := s.Break(lineWith(t, s, "callee"), false)
	require.NoError(t, err)
	st, err := s.Continue(bg)
	require.NoError(t, err)
	require.Equal(t, AtBreakpoint, st.Reason)
	assert.Equal(t, "-3", print(t, s, "delta"))
	_, err = s.Eval("shape")
	var unknown *expr.UnknownError
	require.ErrorAs(t, err, &unknown, "a variable of the caller is not one of the callee")
	require.NoError(t, s.SelectFrame(1))
	assert.Equal(t, "17", print(t, s, "shape.sides"))
	require.Error(t, s.SelectFrame(2))
	st, err = s.Finish(bg)
	require.NoError(t, err)
	assert.Equal(t, Exited, st.Reason, "the selected frame is the outermost one")
}

func TestObjectsWithoutDWARF(t *testing.T) {
	s := startedWithoutDWARF(t, "examples/exec/exec.bpf.o", "on_exec")
	_, err := s.Locals()
	var un *expr.UnavailableError
	require.ErrorAs(t, err, &un)
	assert.Contains(t, err.Error(), "no DWARF")
	_, err = s.Eval("task->pid")
	var unknown *expr.UnknownError
	require.ErrorAs(t, err, &unknown)
	assert.Contains(t, unknown.Hint, "print *(struct task_struct *)$r6", "the cast that does without DWARF")
}

// TestExamplesHaveVariables: each example has DWARF, and a program of it a variable that prints
// somewhere along its way.
func TestExamplesHaveVariables(t *testing.T) {
	paths, err := filepath.Glob("../../examples/*/*.bpf.o")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	newest, err := testbtf.Load("../../testdata/btf/linux-7.2.13-amd64.btf.xz")
	require.NoError(t, err)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			s := open(t, filepath.Join("examples", filepath.Base(filepath.Dir(path)), filepath.Base(path)))
			if strings.HasPrefix(filepath.Base(path), "hid") { // the kernel of the other examples has no HID-BPF
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				s = openOn(t, loader.NewTarget("linux-7.2.13-amd64", newest), path, data)
			}
			require.NoError(t, s.DWARFError())
			if len(subsys.Simulates(s.Machine().Linked().Object)) > 0 {
				return // its programs run only as a whole
			}
			printed := map[string]bool{}
			for _, name := range s.Machine().Names() {
				if _, err := s.Start(name); err != nil {
					continue // needs a scenario's input
				}
				for steps := 0; s.State() == Running && steps < 100; steps++ {
					locals, err := s.Locals()
					require.NoError(t, err)
					for _, l := range locals {
						if l.Err == nil {
							printed[l.Name] = true
							assert.NotEmpty(t, print(t, s, l.Name))
						}
					}
					if _, err := s.Step(bg); err != nil {
						break
					}
				}
			}
			assert.NotEmpty(t, printed)
		})
	}
}

// TestInlinedFunctions: they are frames, with their own variables, places to stop at, and things to
// step over and out of.
func TestInlinedFunctions(t *testing.T) {
	for _, build := range builds {
		t.Run(build, func(t *testing.T) {
			s := started(t, "internal/debug/testdata/locals-"+build+".o", "locals")
			b, err := s.Break("square", false)
			require.NoError(t, err)
			assert.Contains(t, b.Note, "inlined")
			st, err := s.Continue(bg)
			require.NoError(t, err)
			require.Equal(t, AtBreakpoint, st.Reason)
			frames, err := s.Frames()
			require.NoError(t, err)
			require.Len(t, frames, 2)
			assert.Equal(t, "square", frames[0].Func)
			assert.True(t, frames[0].Inlined)
			assert.Equal(t, "locals", frames[1].Func)
			assert.False(t, frames[1].Inlined)
			text := lineText(t, s, frames[1].Line)
			assert.Contains(t, text, "square(chosen)", "the caller is at the call")
			_, err = s.Eval("list")
			require.Error(t, err, "a variable of the caller is not one of the inlined function")
			require.NoError(t, s.SelectFrame(1))
			if arrayLost(build) {
				_, err = s.Eval("list")
				require.ErrorContains(t, err, "32 bytes")
			} else {
				assert.Equal(t, "[60, 61, 62, 63]", print(t, s, "list"))
			}
			require.Equal(t, 1, s.SelectedFrame())
			require.Error(t, s.SelectFrame(2))
			require.NoError(t, s.SelectFrame(0))
			inside := s.Pos()
			st, err = s.Finish(bg)
			require.NoError(t, err)
			assert.Equal(t, Stepped, st.Reason)
			frames, err = s.Frames()
			require.NoError(t, err)
			assert.Equal(t, "locals", frames[0].Func)
			require.NoError(t, s.Delete(b.ID))
			_, err = s.GoTo(bg, inside)
			require.NoError(t, err)
			s.Reverse = true
			st, err = s.Finish(bg)
			require.NoError(t, err)
			assert.Less(t, st.Pos, inside)
			frames, err = s.Frames()
			require.NoError(t, err)
			assert.Equal(t, "locals", frames[0].Func)
			s.Reverse = false
			for s.State() == Running {
				_, err = s.Next(bg)
				require.NoError(t, err)
				if frames, err := s.Frames(); err == nil {
					assert.Equal(t, "locals", frames[0].Func, "next runs through inlined calls")
				}
			}
		})
	}
}

func lineText(t *testing.T, s *Session, n uint32) string {
	t.Helper()
	lines, err := s.List(s.Files()[0], n, n)
	require.NoError(t, err)
	require.Len(t, lines, 1)
	return lines[0].Text
}

// TestLinesOfDWARF: .debug_line is taken where there is one, and agrees with .BTF.ext about files.
func TestLinesOfDWARF(t *testing.T) {
	s := started(t, "internal/debug/testdata/locals-O2-dwarf5.o", "locals")
	require.NotEmpty(t, s.linked.Programs[0].Funcs[0].Lines)
	assert.Equal(t, []string{"./debug/testdata/locals.bpf.c"}, s.Files())
	assert.Equal(t, "int locals(void *ctx)", lineOfStart(t, s), "of its declaration, as the verifier's log has it; DWARF has the brace")
	plain := startedWithoutDWARF(t, "examples/tp_btf/tp_btf.bpf.o", "on_switch")
	assert.Nil(t, plain.linked.Programs[0].Funcs[0].Lines)
	assert.NotEmpty(t, plain.Files())
}

// lineOfStart returns the source line of the running program's first instruction.
func lineOfStart(t *testing.T, s *Session) string {
	t.Helper()
	l, ok := s.linked.Programs[0].LineAt(0)
	require.True(t, ok)
	return l.Text
}

// TestSourceMap: sources are found where they were moved to.
func TestSourceMap(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile("testdata/locals.bpf.c")
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "moved"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "moved", "locals.bpf.c"), text, 0o600))
	s := started(t, "internal/debug/testdata/locals-O2-dwarf5.o", "locals")
	s.dirs, s.sources = nil, map[string]source{}
	assert.False(t, s.sourceText(s.Files()[0]).whole, "only the lines of line information")
	s.MapSource("debug/testdata", filepath.Join(dir, "moved"))
	assert.True(t, s.sourceText(s.Files()[0]).whole)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "moved", "locals.bpf.c"), append([]byte("\n\n"), text...), 0o600))
	s.MapSource("nothing", "nowhere")
	assert.False(t, s.sourceText(s.Files()[0]).whole, "a file that is not the one compiled is not shown")
}

// TestWatchLocals: a watchpoint on a variable in a register is about that variable: not about one
// of the same name in a callee, nor about the register when it holds something else. It ends with
// its function.
func TestWatchLocals(t *testing.T) {
	s := started(t, "internal/debug/testdata/locals-O1-dwarf5.o", "locals")
	_, err := s.Break(lineWith(t, s, "callee"), true)
	require.NoError(t, err)
	_, err = s.Continue(bg)
	require.NoError(t, err)
	w, err := s.AddWatch("delta", false, true)
	require.NoError(t, err)
	require.True(t, w.framed)
	st, err := s.Continue(bg)
	require.NoError(t, err)
	require.Equal(t, AtWatchpoint, st.Reason)
	assert.Contains(t, st.Watches[0].New, "its function returned")
	assert.Equal(t, "-3", st.Watches[0].Old)
	assert.False(t, w.Enabled)

	s = started(t, "internal/debug/testdata/locals-O1-dwarf5.o", "locals")
	_, err = s.Break("fill", true)
	require.NoError(t, err)
	_, err = s.Continue(bg)
	require.NoError(t, err)
	require.NoError(t, s.SelectFrame(1))
	if _, err := s.AddWatch("n + 0", false, true); err == nil {
		st, err = s.Finish(bg)
		require.NoError(t, err)
		assert.NotEqual(t, AtWatchpoint, st.Reason, "n of the callee is another one")
	}
}

// TestInlineChainIsThatOfFrames: the chain of an instruction needs no session, and is what frames
// of one show there.
func TestInlineChainIsThatOfFrames(t *testing.T) {
	for _, build := range builds {
		path := "internal/debug/testdata/locals-" + build + ".o"
		s := started(t, path, "locals")
		_, err := s.Break("square", false)
		require.NoError(t, err)
		_, err = s.Continue(bg)
		require.NoError(t, err)
		want, err := s.Frames()
		require.NoError(t, err)
		elf, err := os.ReadFile("../../" + path)
		require.NoError(t, err)
		got, err := InlineChain(elf, s.linked, "locals", s.Here().PC)
		require.NoError(t, err)
		require.Len(t, got, len(want), build)
		for i := range got {
			assert.Equal(t, []any{want[i].Func, filepath.Clean(want[i].File), want[i].Line, want[i].Inlined}, []any{got[i].Func, filepath.Clean(got[i].File), got[i].Line, got[i].Inlined}, build)
		}
	}
	_, err := InlineChain(nil, open(t, "internal/debug/testdata/long.o").linked, "loop", 1<<20)
	require.ErrorContains(t, err, "no instruction")
}
