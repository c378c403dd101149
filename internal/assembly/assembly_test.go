package assembly

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// linked returns a text as an object that is ready to run.
func linked(t *testing.T, text string) *loader.Linked {
	t.Helper()
	spec, err := embedded.Spec()
	require.NoError(t, err)
	data, err := Object("typed.s", text, spec)
	require.NoError(t, err)
	o, err := loader.OpenBytes("typed.o", data)
	require.NoError(t, err)
	assert.Empty(t, o.Warnings)
	l, err := o.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
	require.NoError(t, err)
	return l
}

// The example in the description runs, counts in its map, and has its text as source lines.
func TestTextRuns(t *testing.T) {
	l := linked(t, Language)
	elements, err := Contents(l.Object.ELF())
	require.NoError(t, err)
	require.Len(t, elements, 1)
	m, err := machine.New(l, machine.Config{Seed: 1, CPUs: 1, Contents: []machine.MapElement{machine.MapElement(elements[0])}})
	require.NoError(t, err)
	defer m.Close()
	for range 3 {
		res, err := m.Run(t.Context(), "count", machine.Input{})
		require.NoError(t, err)
		require.Nil(t, res.Fault)
		assert.Equal(t, uint64(2), res.Ret)
	}
	def, ok := l.Map("counts")
	require.True(t, ok)
	counts, ok := m.Map(def)
	require.True(t, ok)
	var value []byte
	for _, e := range counts.Entries() {
		value = e.Value
	}
	assert.Equal(t, []byte{43, 0, 0, 0, 0, 0, 0, 0}, value, "40 are there before the three runs")
	p, ok := l.Program("count")
	require.True(t, ok)
	line, ok := p.LineAt(len(p.Insns) - 1)
	require.True(t, ok)
	assert.Equal(t, "typed.s", line.File)
	assert.Equal(t, 14, int(line.Line))
	assert.Equal(t, "exit", strings.TrimSpace(line.Text))
}

// Programs have labels and functions of their own, and share sections and maps.
func TestSeveralPrograms(t *testing.T) {
	l := linked(t, ".license Dual MIT/GPL\n.map m hash 4 4 8\n.prog a tc\nr1 = map_fd(m)\ncall f; exit\nf: r0 = 1; exit\n.prog b tc\ngoto f\nf: r1 = map_fd(m)\nr0 = 7\nexit\n.prog c xdp\nr0 = 0\nexit")
	m, err := machine.New(l, machine.Config{Seed: 1, CPUs: 1})
	require.NoError(t, err)
	defer m.Close()
	for name, want := range map[string]uint64{"a": 1, "b": 7, "c": 0} {
		res, err := m.Run(t.Context(), name, machine.Input{})
		require.NoError(t, err, name)
		require.Nil(t, res.Fault, name)
		assert.Equal(t, want, res.Ret, name)
	}
	require.Len(t, l.Object.Maps, 1)
	assert.Equal(t, "Dual MIT/GPL", l.Object.License)
}

// Functions of the kernel are called by name, and declared as the kernel does.
func TestKfuncsAreCalledByName(t *testing.T) {
	l := linked(t, ".prog a tp_btf/sched_switch\ncall bpf_rcu_read_lock\ncall bpf_rcu_read_unlock\ncall bpf_rcu_read_lock\ncall bpf_rcu_read_unlock\ncall own\nexit\nown: r1 = 5\ncall bpf_task_from_pid\nif r0 == 0 goto out\nr1 = r0\ncall bpf_task_release\nout: r0 = 0\nexit")
	m, err := machine.New(l, machine.Config{Seed: 1, CPUs: 1})
	require.NoError(t, err)
	defer m.Close()
	res, err := m.Run(t.Context(), "a", machine.Input{})
	require.NoError(t, err)
	require.Nil(t, res.Fault)
	require.True(t, res.Ran, "%s: %v", res.Status, m.ProgramError("a"))
	assert.Equal(t, 2, res.Helpers["bpf_rcu_read_lock"])
	assert.Equal(t, 1, res.Helpers["bpf_task_from_pid"])
	require.Len(t, l.Externs, 4)
	assert.Equal(t, "struct task_struct *bpf_task_from_pid(int)", l.Object.BTF.Declare(l.Externs[2].Type, l.Externs[2].Name))
}

func TestMistakesNameTheirLine(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		line int
		want string
	}{
		"no directive":      {"\n.text", 2, "want .map"},
		"instruction":       {".prog a xdp\n\nr0 == 1", 3, ""},
		"label":             {".prog a xdp\ngoto x", 2, "no such label"},
		"other's label":     {".prog a xdp\nx: exit\n.prog b xdp\ngoto x", 4, "no such label"},
		"map":               {"r1 = map_fd(nowhere)", 1, "no such map"},
		"helper":            {"exit\ncall bpf_nothing", 2, "no such helper"},
		"function":          {"exit\ncall nothing", 2, "no such label"},
		"map type":          {".map m list 4 4 4", 1, "no map type"},
		"size":              {".map m hash 4 -4 4", 1, "no size"},
		"element's map":     {".elem m 1 2", 1, "no such map"},
		"element's size":    {".map m hash 2 4 4\n.elem m 65536 2", 2, "number that fits"},
		"element's sign":    {".map m hash 1 4 4\n.elem m -129 2", 2, "number that fits"},
		"element's bytes":   {".map m hash 4 4 4\n.elem m hex:0102 2", 2, "4 bytes, not hex:0102"},
		"twice":             {".map m hash 4 4 4\n.prog m xdp", 2, "twice"},
		"name":              {".prog a-b xdp", 1, "no name"},
		"empty program":     {".prog a xdp\n.prog b xdp\nexit", 1, "no instructions"},
		"many maps":         {strings.Join(manyMaps(), "\n"), maxMaps + 1, "more than"},
		"comment after all": {"r0 = 0 // fine\nr1 = // not", 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Object("typed.s", c.text, nil)
			var e *Error
			require.ErrorAs(t, err, &e)
			assert.Contains(t, err.Error(), c.want)
			if name != "empty program" {
				assert.Equal(t, c.line, e.Line)
			}
		})
	}
	_, err := Object("typed.s", "// nothing", nil)
	assert.ErrorIs(t, err, ErrNoProgram)
	_, err = Object("typed.s", strings.Repeat("\n", maxText+1), nil)
	assert.ErrorIs(t, err, ErrTooLong)
}

func manyMaps() (lines []string) {
	for i := range maxMaps + 1 {
		lines = append(lines, ".map m"+strings.Repeat("x", i)+" hash 4 4 4")
	}
	return lines
}

// Elements are numbers in little endian or bytes, and a damaged section is refused.
func TestElements(t *testing.T) {
	data, err := Object("typed.s", ".map m hash 4 16 4\n.elem m hex:0a000001 0x102\n.elem m -2 7\n.prog a xdp\nr0 = 0\nexit", nil)
	require.NoError(t, err)
	got, err := Contents(data)
	require.NoError(t, err)
	assert.Equal(t, []Element{
		{"m", []byte{10, 0, 0, 1}, []byte{2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		{"m", []byte{0xfe, 0xff, 0xff, 0xff}, append([]byte{7}, make([]byte, 15)...)},
	}, got)
	at := bytes.Index(data, []byte{1, 0, 0, 0, 'm', 4, 0, 0, 0})
	require.Positive(t, at)
	data[at+5] = 200
	_, err = Contents(data)
	assert.ErrorIs(t, err, ErrContents)
	none, err := Contents([]byte("no object, but " + contentsSection))
	assert.Error(t, err)
	assert.Nil(t, none)
}

// Whatever the text is, the answer is an error or an object that opens or is refused.
func FuzzObject(f *testing.F) {
	f.Add(Language)
	files, _ := filepath.Glob("../../decode/testdata/*.s")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			f.Add(string(text))
		}
	}
	f.Add(".prog a xdp\ncall f; exit\nf: exit")
	f.Fuzz(func(t *testing.T, text string) {
		if data, err := Object("typed.s", text, nil); err == nil {
			_, _ = loader.OpenBytes("typed.o", data)
			_, err := Contents(data)
			assert.NoError(t, err)
		}
	})
}
