package debug

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// examples are objects with programs of all sorts: calls, callbacks, tail calls, loops.
var examples = []struct{ path, prog string }{
	{"examples/exec/exec.bpf.o", "on_exec"},
	{"examples/loop/loop.bpf.o", "on_exit"},
	{"examples/xdp/xdp.bpf.o", "filter"},
	{"examples/tailcall/tailcall.bpf.o", "entry"},
	{"examples/tp_btf/tp_btf.bpf.o", "on_switch"},
	{"examples/globals/globals.bpf.o", ""},
	{"testdata/objects/clang-14/callbacks.o", ""},
	{"testdata/objects/clang-14/globals.o", "globals"},
	{"internal/debug/testdata/locals-O2-dwarf5.o", "locals"},
}

// journey is the state at every position of a run, as far as it can be seen.
func journey(t *testing.T, s *Session, most int) []map[string]string {
	t.Helper()
	var out []map[string]string
	for range most {
		v := s.see()
		s.Unlook()
		v.values["place"] = fmt.Sprint(s.Here(), s.m.Thread().Depth())
		out = append(out, v.values)
		st, err := s.StepInsn(bg, 1)
		require.NoError(t, err)
		if st.Reason != Stepped {
			break
		}
	}
	return out
}

// TestReversible goes forward to the end, and then back to every position in several ways: what is
// there must be what was there.
func TestReversible(t *testing.T) {
	for _, ex := range examples {
		t.Run(ex.path+" "+ex.prog, func(t *testing.T) {
			s := started(t, ex.path, ex.prog)
			steps := journey(t, s, 400)
			require.Greater(t, len(steps), 5)
			check := func(what string) {
				pos := int(s.Pos())
				if pos >= len(steps) {
					return
				}
				v := s.see()
				s.Unlook()
				v.values["place"] = fmt.Sprint(s.Here(), s.m.Thread().Depth())
				require.Equal(t, steps[pos], v.values, "%s to %d", what, pos)
			}
			for range 20 {
				before := s.Pos()
				s.Reverse = true
				_, err := s.StepInsn(bg, 1)
				s.Reverse = false
				require.NoError(t, err)
				require.Equal(t, before-1, s.Pos())
				check("stepi back")
				if s.Pos() == 0 {
					break
				}
			}
			for _, pos := range []int{0, len(steps) / 2, 1, len(steps) - 1, len(steps) / 3} {
				_, err := s.GoTo(bg, uint64(pos))
				require.NoError(t, err)
				check("goto")
			}
			for name, step := range map[string]func(context.Context) (*Stop, error){"step": s.Step, "next": s.Next, "finish": s.Finish, "nexti": s.NextInsn, "until": s.Until} {
				_, err := s.GoTo(bg, uint64(len(steps)-1))
				require.NoError(t, err)
				s.Reverse = true
				for n := 0; s.Pos() > 0; n++ {
					before := s.Pos()
					_, err := step(bg)
					require.NoError(t, err, name)
					require.Less(t, s.Pos(), before, name)
					check(name + " back")
					if n > 30 {
						break
					}
				}
				s.Reverse = false
			}
		})
	}
}

// TestStepsBothWays: the lines that step visits forwards are visited backwards, in the opposite
// order, when no line is entered in its middle.
func TestStepsBothWays(t *testing.T) {
	s := started(t, "examples/xdp/xdp.bpf.o", "filter")
	var forth []uint64
	for s.State() == Running {
		forth = append(forth, s.Pos())
		_, err := s.Next(bg)
		require.NoError(t, err)
	}
	s.Reverse = true
	var back []uint64
	for {
		st, err := s.Next(bg)
		require.NoError(t, err)
		back = append(back, s.Pos())
		if st.Reason == AtStart || s.Pos() == 0 {
			break
		}
	}
	require.NotEmpty(t, back)
	assert.Equal(t, uint64(0), back[len(back)-1])
	assert.InDelta(t, len(forth), len(back), 3)
}

func TestBreakpoints(t *testing.T) {
	s := open(t, "examples/loop/loop.bpf.o")
	one, err := s.Break("climb_one", false)
	require.NoError(t, err)
	_, err = s.Start("")
	require.NoError(t, err)
	var at []uint64
	for {
		st, err := s.Continue(bg)
		require.NoError(t, err)
		if st.Reason != AtBreakpoint {
			assert.Equal(t, Exited, st.Reason)
			break
		}
		at = append(at, st.Pos)
		assert.Equal(t, []*Breakpoint{one}, st.Breakpoints)
	}
	require.Greater(t, len(at), 2, "a callback is called more than once")
	assert.Equal(t, len(at), one.Hits)

	s.Reverse = true
	for i := len(at) - 1; i >= 0; i-- {
		st, err := s.Continue(bg)
		require.NoError(t, err)
		assert.Equal(t, AtBreakpoint, st.Reason)
		assert.Equal(t, at[i], st.Pos)
	}
	st, err := s.Continue(bg)
	require.NoError(t, err)
	assert.Equal(t, AtStart, st.Reason)
	s.Reverse = false

	one.Ignore = 1
	st, err = s.Continue(bg)
	require.NoError(t, err)
	assert.Equal(t, at[1], st.Pos)

	frames, err := s.Frames()
	require.NoError(t, err)
	require.Len(t, frames, 2)
	assert.True(t, frames[0].Callback)
	st, err = s.Finish(bg)
	require.NoError(t, err)
	assert.Contains(t, []Reason{Returned, AtBreakpoint}, st.Reason)

	require.NoError(t, s.SetCondition(one.ID, fmt.Sprintf("$insns == %d", at[2])))
	_, err = s.Restart()
	require.NoError(t, err)
	st, err = s.Continue(bg)
	require.NoError(t, err)
	assert.Equal(t, at[2], st.Pos)
	require.NoError(t, s.SetCondition(one.ID, "nonsense == 1"))
	_, err = s.Restart()
	require.NoError(t, err)
	st, err = s.Continue(bg)
	require.NoError(t, err)
	require.Error(t, st.Err, "a condition that cannot be decided stops the program")

	require.NoError(t, s.Delete(one.ID))
	require.Error(t, s.Delete(one.ID))
	tmp, err := s.Break("climb_one", true)
	require.NoError(t, err)
	_, err = s.Restart()
	require.NoError(t, err)
	st, err = s.Continue(bg)
	require.NoError(t, err)
	assert.Equal(t, []*Breakpoint{tmp}, st.Breakpoints)
	st, err = s.Continue(bg)
	require.NoError(t, err)
	assert.Equal(t, Exited, st.Reason)
}

func TestLocations(t *testing.T) {
	s := open(t, "examples/exec/exec.bpf.o")
	for _, tt := range []struct {
		loc    string
		places int
		err    string
	}{
		{"on_exec", 1, ""},
		{"on_exec+3", 1, ""},
		{"exec.bpf.c:60", 1, ""},
		{"60", 1, ""},
		{"*10", 1, ""},
		{"bpf_probe_read_kernel", 5, ""},
		{"probe_read_kernel", 5, ""},
		{"core:task_struct.tgid", 1, ""},
		{"on_exce", 0, "nearest: on_exec"},
		{"exec.bpf.h:1", 0, "nearest: exec.bpf.c"},
		{"exec.bpf.c:6000", 0, "no code at or after line 6000"},
		{"*25", 0, "second slot"},
		{"*1000", 0, "the last one is 100"},
		{"on_exec+1000", 0, "101 instructions"},
		{"bpf_map_delete_elem", 0, "no program calls"},
		{"core:task_struct.tgdi", 0, "nearest"},
		{"", 0, "no location"},
		{"on_exec:x", 0, "not a line number"},
	} {
		places, _, err := s.Locate(tt.loc)
		if tt.err != "" {
			require.Error(t, err, tt.loc)
			assert.Contains(t, err.Error(), tt.err, tt.loc)
			continue
		}
		require.NoError(t, err, tt.loc)
		assert.Len(t, places, tt.places, tt.loc)
	}
	_, note, err := s.Locate("exec.bpf.c:53")
	require.NoError(t, err)
	assert.Contains(t, note, "line 53 has no code")
}

func TestWatchpoints(t *testing.T) {
	s := started(t, "examples/exec/exec.bpf.o", "on_exec")
	// A field that a helper reads, an element that does not exist yet, a register.
	read, err := s.AddWatch("current->cred", true, false)
	require.NoError(t, err)
	st, err := s.Continue(bg)
	require.NoError(t, err)
	require.Equal(t, AtWatchpoint, st.Reason)
	assert.Equal(t, "call bpf_probe_read_kernel#113", st.Watches[0].Place.Insn())
	behind := st.Pos
	s.Reverse = true
	st, err = s.Continue(bg)
	require.NoError(t, err)
	require.Equal(t, AtWatchpoint, st.Reason, "backwards it stops before the access")
	assert.Equal(t, behind-1, st.Pos)
	s.Reverse = false
	require.NoError(t, s.Delete(read.ID))

	uid := print(t, s, "current->cred->uid.val")
	elem, err := s.AddWatch("execs_by_uid["+uid+"]", false, true)
	require.NoError(t, err)
	assert.True(t, elem.Soft())
	st, err = s.Continue(bg)
	require.NoError(t, err)
	require.Equal(t, AtWatchpoint, st.Reason)
	assert.Equal(t, "<none>", st.Watches[0].Old)
	assert.Equal(t, "1", st.Watches[0].New)
	require.NoError(t, s.Delete(elem.ID))

	_, err = s.AddWatch("$r8", false, true)
	require.NoError(t, err)
	st, err = s.Continue(bg)
	require.NoError(t, err)
	require.Equal(t, AtWatchpoint, st.Reason)
	assert.Equal(t, "r8 = r0", st.Watches[0].Place.Insn())
	_, err = s.AddWatch("$r8", true, false)
	require.Error(t, err, "registers cannot be watched for reads")
	_, err = s.AddWatch("nonsense", false, true)
	require.Error(t, err)
}

// TestEdits: a change belongs to its place in the run.
func TestEdits(t *testing.T) {
	s := started(t, "examples/exec/exec.bpf.o", "on_exec")
	_, err := s.GoTo(bg, 20)
	require.NoError(t, err)
	_, err = s.Assign("current->real_parent->tgid = 4711")
	require.NoError(t, err)
	_, err = s.Assign("execs_by_uid[77] = 5")
	require.NoError(t, err)
	assert.Equal(t, "4711", print(t, s, "current->real_parent->tgid"))
	_, err = s.GoTo(bg, 19)
	require.NoError(t, err)
	assert.NotEqual(t, "4711", print(t, s, "current->real_parent->tgid"), "it is not changed yet")
	assert.Equal(t, "{}", print(t, s, "execs_by_uid"))
	st, err := s.Continue(bg)
	require.NoError(t, err)
	require.Equal(t, Exited, st.Reason)
	require.Len(t, st.Result.Events, 1)
	assert.Contains(t, s.RecordText("events", st.Result.Events[0].Data), "ppid = 4711", "going on makes the change again")
	_, err = s.GoTo(bg, 10)
	require.NoError(t, err)
	_, err = s.Assign("$r9 = 3")
	require.NoError(t, err)
	assert.Equal(t, 1, s.Edits(), "a change before others makes another run")
	for _, bad := range []string{"$r10 = 1", "1 = 2", "current->comm = 5", "nonsense = 1", "$r1", "execs_by_uid = 1", "current->comm = \"much too long a name\"", "$r1 = "} {
		_, err := s.Assign(bad)
		require.Error(t, err, bad)
	}
	assert.Equal(t, 1, s.Edits())
}

func TestCheckpoints(t *testing.T) {
	s := started(t, "examples/exec/exec.bpf.o", "on_exec")
	c, err := s.Mark()
	require.NoError(t, err)
	_, err = s.Continue(bg)
	require.NoError(t, err)
	list, err := s.Diff(c.ID)
	require.NoError(t, err)
	var names []string
	for _, d := range list {
		names = append(names, d.Name)
	}
	assert.Contains(t, names, "execs_by_uid["+print(t, s, "(u32)0 + "+s.uidText())+"]")
	_, err = s.Diff(7)
	require.Error(t, err)
}

// uidText is the user whose element the run made.
func (s *Session) uidText() string {
	return fmt.Sprint(testOrder.Uint32(s.result.Changes[0].Key))
}

func TestInterrupt(t *testing.T) {
	s := started(t, "examples/exec/exec.bpf.o", "on_exec")
	ctx, cancel := context.WithCancel(bg)
	cancel()
	st, err := s.Continue(ctx)
	require.NoError(t, err)
	assert.Equal(t, Interrupted, st.Reason)
	_, err = s.GoTo(bg, 30)
	require.NoError(t, err)
	s.Reverse = true
	st, err = s.Next(ctx)
	require.NoError(t, err)
	assert.Equal(t, Interrupted, st.Reason)
	assert.Equal(t, uint64(30), s.Pos(), "an interrupted search leaves the session where it was")
}

func TestRuns(t *testing.T) {
	s := open(t, "examples/exec/exec.bpf.o")
	_, err := s.Continue(bg)
	require.ErrorIs(t, err, ErrIdle)
	_, err = s.Start("on_exce")
	var unknown *expr.UnknownError
	require.ErrorAs(t, err, &unknown)
	assert.Equal(t, []string{"on_exec"}, unknown.Nearest)
	_, err = s.Start("")
	require.NoError(t, err)
	_, err = s.Continue(bg)
	require.NoError(t, err)
	_, err = s.Continue(bg)
	require.ErrorIs(t, err, ErrEnded)
	_, err = s.GoTo(bg, 1<<40)
	require.ErrorIs(t, err, ErrRange)
	first := print(t, s, "execs_by_uid")
	assert.NotEqual(t, "{}", first)
	_, err = s.Start("")
	require.NoError(t, err)
	assert.Equal(t, first, print(t, s, "execs_by_uid"), "runs share maps")
	s.Reset()
	assert.Equal(t, "{}", print(t, s, "execs_by_uid"))
	assert.Equal(t, Idle, s.State())
}

// TestPatience: a step over many instructions ends where one that looks at each of them does.
func TestPatience(t *testing.T) {
	s := started(t, "internal/debug/testdata/long.o", "loop")
	_, err := s.Break(lineWithText(t, s, "x ^="), true)
	require.NoError(t, err)
	_, err = s.Continue(bg)
	require.NoError(t, err)
	st, err := s.Until(bg)
	require.NoError(t, err)
	for st.Reason == Stepped && st.Pos < 1000 {
		st, err = s.Until(bg)
		require.NoError(t, err)
	}
	assert.Equal(t, Stepped, st.Reason)
	assert.Greater(t, st.Pos, uint64(500_000))
}

func lineWithText(t *testing.T, s *Session, text string) string {
	t.Helper()
	lines, err := s.List(s.Files()[0], 1, 1000)
	require.NoError(t, err)
	for _, l := range lines {
		if strings.Contains(l.Text, text) {
			return s.Files()[0] + ":" + itoa(int(l.Line))
		}
	}
	t.Fatalf("no line has %q", text)
	return ""
}

// TestWatchpointsOfWritesNeedAChange: a store of the value that is there is none; an access
// watchpoint tells of it all the same.
func TestWatchpointsOfWritesNeedAChange(t *testing.T) {
	for _, read := range []bool{false, true} {
		s := started(t, "testdata/objects/clang-14/senders.o", "rewrite")
		_, err := s.AddWatch("word", read, true)
		require.NoError(t, err)
		var seen []string
		for {
			st, err := s.Continue(bg)
			require.NoError(t, err)
			if st.Reason != AtWatchpoint {
				require.Equal(t, Exited, st.Reason)
				break
			}
			seen = append(seen, st.Watches[0].Old+" -> "+st.Watches[0].New)
		}
		want := []string{"0 -> 7"}
		if read {
			want = []string{"0 -> 0", "0 -> 0", "0 -> 7"}
		}
		assert.Equal(t, want, seen)
	}
}
