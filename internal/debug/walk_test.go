package debug

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/loader"
)

const family = `
objects:
  one: {type: task_struct, pid: 11, tgid: 11, comm: one}
  two: {type: task_struct, pid: 12, tgid: 12, comm: two}
  parent: {type: task_struct, pid: 10, tgid: 10, comm: parent, children: !list {via: sibling, of: [$one, $two]}}
runs:
- {prog: on_exec, current: $parent}
`

// TestListWalks: the entries of kernel lists, and members of them.
func TestListWalks(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	obj, err := loader.Open(filepath.Join("..", "..", "examples", "exec", "exec.bpf.o"))
	require.NoError(t, err)
	file, err := scenario.Parse("family.yaml", []byte(family))
	require.NoError(t, err)
	r, err := scenario.Open(file, obj, loader.NewTarget(embedded.Name, spec), scenario.Options{})
	require.NoError(t, err)
	s, err := NewOn(Target{Machine: r.Machine(), Cases: ScenarioCases(r)}, Config{Machine: machine.Config{Mode: object.ModeScenario}})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	_, err = s.Start("")
	require.NoError(t, err)
	for text, want := range map[string]string{
		"list_for_each(current->children, struct task_struct, sibling, comm)":            `["one", "two"]`,
		"list_for_each_entry(&current->children, struct task_struct, sibling, pid)":      "[11, 12]",
		"list_for_each(current->children, struct task_struct, sibling)[1]->comm":         `"two"`,
		"list_for_each(current->children, struct task_struct, sibling) + 1":              "3",
		"sizeof(list_for_each(current->children, struct task_struct, sibling, comm)[0])": "16",
		"current->comm[0]@3": `"par"`,
	} {
		assert.Equal(t, want, print(t, s, text), text)
	}
	for text, want := range map[string]string{
		"list_for_each(current->children, struct task_struct, siblin)":      "nearest: sibling",
		"list_for_each(current->children, int, sibling)":                    "no members",
		"list_for_each(current->children, struct task_struct, sibling)[2]":  "has 2 entries",
		"list_for_each(current->children, struct task_struct, sibling, xx)": "no member",
		"list_for_each(current->children)":                                  "want ,",
		"$r1@2":                                                             "in memory",
		"current->comm[0]@0":                                                "number of elements",
	} {
		_, err := s.Eval(text)
		require.ErrorContains(t, err, want, text)
	}
}
