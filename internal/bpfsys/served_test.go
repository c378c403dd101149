package bpfsys_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
)

// subject is an entry of an enumeration of the kernel's interface. The call that it is tried with
// must succeed, or be refused with a note that names it.
type subject struct {
	name string
	try  func(k *caller) result
	// word is what a refusal must mention; empty means the name.
	word string
}

// outcome is what a subject's call shows.
type outcome struct {
	kind, name string
	served     bool
	note       string
}

func audit(t *testing.T, spec *btf.Spec, kind string, subjects []subject) []outcome {
	var out []outcome
	for _, s := range subjects {
		t.Run(kind+"/"+s.name, func(t *testing.T) {
			if s.try == nil {
				t.Fatalf("%s %s is new: add a call that the kernel serves", kind, s.name)
			}
			k := newCaller(t, spec)
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("what the call needs: %v", r)
				}
			}()
			r := s.try(k)
			o := outcome{kind: kind, name: s.name, served: r.errno == 0}
			if r.errno != 0 {
				word := s.word
				if word == "" {
					word = s.name
				}
				i := slices.IndexFunc(r.notes, func(n string) bool { return strings.Contains(n, word) })
				if assert.GreaterOrEqual(t, i, 0, "%s is not served (%s), and no note names it: %q", s.name, r.errno.Name(), r.notes) {
					o.note = r.notes[i]
				}
			}
			out = append(out, o)
		})
	}
	return out
}

func newestKernel(t *testing.T) *btf.Spec {
	spec, err := testbtf.Load("../../testdata/btf/linux-7.2.13-amd64.btf.xz")
	require.NoError(t, err)
	return spec
}

// TestTheWholeInterfaceIsServedOrRefusedByName goes through the kernel's enumerations, which
// package uapi generates from the newest kernel's BTF: every entry has a call that the kernel
// serves, and that call is served here or refused with a note that names the entry. The table in
// docs/exec.md lists the refused entries.
func TestTheWholeInterfaceIsServedOrRefusedByName(t *testing.T) {
	spec := newestKernel(t)
	var all []outcome
	for _, part := range []struct {
		kind     string
		subjects []subject
	}{
		{"command", commandSubjects()}, {"map type", mapSubjects()}, {"element of a map", elementSubjects()}, {"program type", programSubjects()},
		{"attach type", attachSubjects()}, {"link type", linkSubjects()}, {"perf event", perfSubjects()}, {"request on a perf event", perfIoctlSubjects()},
	} {
		all = append(all, audit(t, spec, part.kind, part.subjects)...)
	}
	if t.Failed() {
		return
	}
	checkTable(t, "../../docs/exec.md", "bpf", table(all))
}

var plural = map[string]string{
	"command": "commands", "map type": "map types", "element of a map": "elements of maps, by type", "program type": "program types", "attach type": "attach types",
	"link type": "link types", "perf event": "perf events", "request on a perf event": "requests on perf events",
}

// table renders the outcomes for docs/exec.md.
func table(all []outcome) string {
	var b strings.Builder
	b.WriteString("| of the kernel's | served | refused by name |\n|---|---:|---|\n")
	for len(all) > 0 {
		kind, served := all[0].kind, 0
		var refused []string
		for len(all) > 0 && all[0].kind == kind {
			if all[0].served {
				served++
			} else {
				refused = append(refused, "`"+all[0].name+"`")
			}
			all = all[1:]
		}
		if len(refused) == 0 {
			refused = []string{"-"}
		}
		fmt.Fprintf(&b, "| %s | %d | %s |\n", plural[kind], served, strings.Join(refused, ", "))
	}
	return b.String()
}

// checkTable compares the text between the marks of a document, or writes it there.
func checkTable(t *testing.T, file, name, want string) {
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	begin, end := []byte("<!-- served:"+name+" -->\n"), []byte("<!-- end -->\n")
	head, rest, ok := bytes.Cut(raw, begin)
	require.True(t, ok, "%s has no line %s", file, begin)
	got, tail, ok := bytes.Cut(rest, end)
	require.True(t, ok)
	if *rewrite.Flag && string(got) != want {
		require.NoError(t, os.WriteFile(file, slices.Concat(head, begin, []byte(want), end, tail), 0o644))
		return
	}
	assert.Equal(t, want, string(got), "update with -update")
}
