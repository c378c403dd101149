package expr_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/loader"
)

// names is a scope of a few numbers, in a run that has not begun.
type names map[string]uint64

var errNoName = errors.New("no such name")

func (n names) number(ev *expr.Evaluator, name string) (*expr.Value, error) {
	v, ok := n[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, errNoName)
	}
	return ev.Number(v, true), nil
}

type scope struct {
	names
	ev *expr.Evaluator
}

func (s scope) EvalName(name string) (*expr.Value, error)  { return s.number(s.ev, name) }
func (s scope) EvalReg(name string) (*expr.Value, error)   { return s.number(s.ev, name) }
func (s scope) SetPC(v *expr.Value) (*expr.Value, error)   { return v, nil }
func (scope) Idle() bool                                   { return true }
func (scope) PacketNow() (uint64, []byte, bool)            { return 0, nil, false }
func (scope) PacketStart() packet.Start                    { return 0 }
func (scope) Sent(*loader.Map) (records [][]byte, ok bool) { return nil, false }
func (scope) NameOf(uint64) string                         { return "" }

func evaluator(t *testing.T, known names) (*expr.Evaluator, *machine.Machine) {
	t.Helper()
	spec, err := embedded.Spec()
	require.NoError(t, err)
	m, err := machine.New(loader.NewLinked(loader.NewTarget(embedded.Name, spec)), machine.Config{})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	ev := expr.NewEvaluator()
	require.NoError(t, ev.Use(m, nil))
	s := scope{known, ev}
	ev.Scope, ev.Now, ev.Code, ev.AfterFault, ev.Refresh = s, s, s, func() bool { return false }, func() {}
	return ev, m
}

// What C says of numbers holds: precedence, conversions, signs.
func TestArithmeticIsThatOfC(t *testing.T) {
	t.Parallel()
	ev, _ := evaluator(t, names{"x": 6, "$r1": 0xff})
	for text, want := range map[string]uint64{
		"1 + 2 * 3":               7,
		"(1 + 2) * 3":             9,
		"7 - 2 - 1":               4,
		"1 << 4 | 1":              17,
		"6 & 3 == 3":              0, // == binds tighter
		"1 ? 2 : 0 ? 3 : 4":       2,
		"-7 / 2":                  negative(3),
		"-7 % 3":                  negative(1),
		"-8 >> 1":                 negative(4),
		"-1 < 1":                  1,
		"-1 < 1u":                 0, // unsigned wins
		"0xffffffffffffffff > 1":  1,
		"!x":                      0,
		"~0":                      math.MaxUint64,
		"x * x":                   36,
		"$r1 + 1":                 256,
		"x > 5 && $r1 == 0xff":    1,
		"'a'":                     97,
		`'\n'`:                    10,
		"0x10 + 010":              24,
		"(unsigned char)300":      44,
		"(signed char)255":        math.MaxUint64,
		"(int)0xffffffff":         math.MaxUint64,
		"(u16)-1":                 0xffff,
		"sizeof(unsigned short)":  2,
		"sizeof(u32[3])":          12,
		"sizeof(void *)":          8,
		"bpf_htons(0x1234)":       0x3412,
		"be32_to_cpu(0x11223344)": 0x44332211,
		"__builtin_bswap64(1)":    1 << 56,
	} {
		v, err := ev.Eval(text)
		if !assert.NoError(t, err, text) {
			continue
		}
		n, _, err := ev.AsInt(v)
		assert.NoError(t, err, text)
		assert.Equal(t, want, n, text)
	}
}

func negative(n uint64) uint64 { return -n }

func TestWhatCannotBeComputedIsRefused(t *testing.T) {
	t.Parallel()
	ev, _ := evaluator(t, nil)
	for text, want := range map[string]string{
		"1 / 0":                               "division by zero",
		"1 % 0":                               "division by zero",
		"*1":                                  "", // no type to read
		"1 + ":                                "expression expected",
		"(1":                                  "want )",
		"1 2":                                 "unexpected text",
		"1 ? 2":                               "want :",
		"a.":                                  "want a member name",
		"#":                                   "unexpected character",
		"'ab'":                                "want one character",
		`"abc`:                                "unterminated quote",
		"{1":                                  "unbalanced braces",
		"0x":                                  "bad number",
		"sizeof(struct nothing)":              "nothing",
		"offsetof(struct task_struct, nope)":  "nope",
		"((struct task_struct *)0)->pid":      "null pointer",
		"nobody":                              errNoName.Error(),
		"x = 1":                               "assignment",
		"no_such_function(1)":                 "no_such_function",
		"container_of(1, struct task_struct)": "want ,",
	} {
		_, err := ev.Eval(text)
		if assert.Error(t, err, text) {
			assert.ErrorContains(t, err, want, text)
		}
	}
	var syntax *expr.SyntaxError
	_, err := ev.Eval("1 + + ]")
	require.ErrorAs(t, err, &syntax)
	assert.Equal(t, 6, syntax.Pos)
}

// Kernel objects are read and written by the target's types.
func TestKernelObjects(t *testing.T) {
	t.Parallel()
	ev, m := evaluator(t, nil)
	task := m.Kernel().Current()
	require.NoError(t, task.SetUint("pid", 4242))
	require.NoError(t, task.Set("comm", "nginx"))
	at := fmt.Sprintf("((struct task_struct *)%#x)", task.Addr())
	text := func(e string, opt expr.FormatOptions) string {
		v, err := ev.Eval(e)
		require.NoError(t, err, e)
		return ev.Format(v, opt)
	}
	assert.Equal(t, "4242", text(at+"->pid", expr.FormatOptions{}))
	assert.Equal(t, "0x1092", text(at+"->pid", expr.FormatOptions{Letter: 'x'}))
	assert.Contains(t, text(at+"->comm", expr.FormatOptions{}), `"nginx"`)
	assert.Equal(t, "110", text(at+"->comm[0]", expr.FormatOptions{Letter: 'd'}))
	assert.Equal(t, "1", text("&"+at+"->pid == (int *)("+fmt.Sprint(task.Addr())+" + offsetof(struct task_struct, pid))", expr.FormatOptions{}))
	assert.Equal(t, "1", text("container_of(&"+at+"->comm, struct task_struct, comm) == "+at, expr.FormatOptions{}))

	_, err := ev.Eval(at + "->pidd")
	assert.ErrorContains(t, err, "nearest: pid")

	_, err = ev.AssignNow(at + "->pid = 7")
	require.NoError(t, err)
	assert.EqualValues(t, 7, must(t, ev, at+"->pid"))
	_, err = ev.AssignNow(at + "->pid += 5")
	require.NoError(t, err)
	assert.EqualValues(t, 12, must(t, ev, at+"->pid"))
	_, err = ev.AssignNow("1 = 2")
	assert.Error(t, err)
}

func must(t *testing.T, ev *expr.Evaluator, text string) uint64 {
	t.Helper()
	v, err := ev.Eval(text)
	require.NoError(t, err)
	n, _, err := ev.AsInt(v)
	require.NoError(t, err)
	return n
}

func TestNumbersInEveryNotation(t *testing.T) {
	t.Parallel()
	ev, _ := evaluator(t, nil)
	for _, tt := range []struct {
		text   string
		letter byte
		want   string
	}{
		{"(u32)255", 'x', "0xff"}, {"(u32)255", 'o', "0377"}, {"(u8)5", 't', "101"}, {"(int)-1", 'u', "4294967295"}, {"(unsigned char)65", 'c', "'A'"},
		{"(u8)200", 'd', "-56"},
	} {
		v, err := ev.Eval(tt.text)
		require.NoError(t, err, tt.text)
		assert.Equal(t, tt.want, ev.Format(v, expr.FormatOptions{Letter: tt.letter}), "%s as %c", tt.text, tt.letter)
	}
}

func TestEnclosed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a": "a", "a->b.c[1 + 2]": "a->b.c[1 + 2]", "*a": "(*a)", "a + b": "(a + b)", "$r1": "$r1", "a-b": "(a-b)",
	} {
		assert.Equal(t, want, expr.Enclosed(text))
	}
}

// Expressions are typed by people: any text ends in a value or an error.
func FuzzEval(f *testing.F) {
	for _, s := range []string{"1 + 2", "(struct task_struct *)1", "a->b[1:2]", "list_for_each(1, struct task_struct, tasks, pid)", "{1, 2}[0]", "sizeof(u8[9])"} {
		f.Add(s)
	}
	spec, err := embedded.Spec()
	require.NoError(f, err)
	m, err := machine.New(loader.NewLinked(loader.NewTarget(embedded.Name, spec)), machine.Config{})
	require.NoError(f, err)
	f.Cleanup(m.Close)
	ev := expr.NewEvaluator()
	require.NoError(f, ev.Use(m, nil))
	s := scope{names{"a": 1}, ev}
	ev.Scope, ev.Now, ev.Code, ev.AfterFault, ev.Refresh = s, s, s, func() bool { return false }, func() {}
	f.Fuzz(func(_ *testing.T, text string) {
		v, err := ev.Eval(text)
		if err == nil {
			ev.Format(v, expr.FormatOptions{})
		}
		ev.Unlook()
	})
}

// TestSyntaxErrorsAreShort: however long the expression is.
func TestSyntaxErrorsAreShort(t *testing.T) {
	e := &expr.SyntaxError{Text: "1 + " + strings.Repeat("(", 100000), Pos: 4, Why: "too deep"}
	assert.Less(t, len(e.Error()), 120)
	assert.Contains(t, e.Error(), `too deep at "((((`)
}
