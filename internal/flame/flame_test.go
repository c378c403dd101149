package flame

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/markup"
)

// sample has a function that two lines of main call.
func sample() Profile {
	at := func(insn int, f string, line int, name string) Place { return Place{insn, f, "a.c", line, name} }
	return Profile{Program: "<p>", Insns: 9, Values: []string{"instructions"}, Each: func(f func([]Place, []int)) {
		f([]Place{at(0, "main", 1, "a.c:1")}, []int{10})
		f([]Place{at(5, "inner", 7, "a.c:7"), at(1, "main", 2, "a.c:2")}, []int{30})
		f([]Place{at(5, "inner", 7, "a.c:7"), at(2, "main", 3, "a.c:3")}, []int{60})
	}}
}

func TestFlameGraphAddsUpCalls(t *testing.T) {
	p := sample()
	root := tree(&p)
	assert.Equal(t, 100, root.n)
	require.Len(t, root.parts, 1)
	main := root.parts[0]
	assert.Equal(t, "main", main.name)
	require.Len(t, main.parts, 3)
	assert.Equal(t, 60, main.parts[2].parts[0].n, "inner from the third line")
	var w markup.Page
	Draw(&w, &p)
	text := w.String()
	assert.Equal(t, 9, strings.Count(text, "<i "))
	assert.Contains(t, text, `title="&lt;p&gt;: 100 instructions, 100.0 %"`)
	assert.Contains(t, text, "left:40.000%;width:60.000%")
	assert.NotContains(t, text, "<p>")
}

func TestRecursionIsDrawnToALimit(t *testing.T) {
	var stack []Place
	for range 500 {
		stack = append(stack, Place{Func: "f", Name: "a.c:1"})
	}
	p := Profile{Program: "p", Values: []string{"instructions"}, Each: func(f func([]Place, []int)) { f(stack, []int{1}) }}
	var w markup.Page
	Draw(&w, &p)
	assert.Equal(t, deepest, strings.Count(w.String(), "<i "))
}

func TestFormatsHaveTheStacks(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteSpeedscope(&b, "bpfrun run", []Profile{sample()}))
	var file speedscopeFile
	require.NoError(t, json.Unmarshal(b.Bytes(), &file))
	assert.Equal(t, []int{10, 30, 60}, file.Profiles[0].Weights)
	assert.Equal(t, 100, file.Profiles[0].End)
	var names []string
	for _, i := range file.Profiles[0].Samples[1] {
		names = append(names, file.Shared.Frames[i].Name)
	}
	assert.Equal(t, []string{"main", "a.c:2", "inner", "a.c:7"}, names)
	b.Reset()
	require.NoError(t, WritePprof(&b, []Profile{sample()}))
	z, err := gzip.NewReader(&b)
	require.NoError(t, err)
	data, err := io.ReadAll(z)
	require.NoError(t, err)
	assert.Contains(t, string(data), "inner")
}
