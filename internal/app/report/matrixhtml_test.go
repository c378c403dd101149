package report

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

func htmlDocument() *MatrixDocument {
	refused := verdictOf(&verifier.Verdict{
		Outcome: verifier.Refused, Errno: uapi.EACCES, Message: "R0 invalid mem access 'map_value_or_null'", Reason: "compare it with null", Insn: 7,
		Source: &verifier.Line{File: "a.bpf.c", Line: 75, Text: "\tif (a < b && c) x = *v;"}, Regs: "R0=map_value_or_null(id=1)", Path: []verifier.Branch{{Insn: 3, Taken: true}},
	})
	accepted := verdictOf(&verifier.Verdict{Outcome: verifier.Accepted, ProcessedInsns: 95, TotalStates: 8})
	kernel := func(name string) MatrixKernel { return MatrixKernel{Target: Target{Name: name}} }
	return &MatrixDocument{
		Base: "linux-6.1", Targets: []string{"linux-6.1", "linux-6.12", "linux-7.2"}, Kernels: []MatrixKernel{kernel("linux-6.1"), kernel("linux-6.12"), kernel("linux-7.2")},
		Summary: map[string]int{"ok": 2, "refused": 1, "differs": 3},
		Rows: []MatrixRow{
			{Object: "a.o", Program: "p", Hook: "xdp", Cells: []MatrixCell{
				{Word: "ok", Result: "ok", Verifier: accepted}, {Word: "ok", Result: "ok", Verifier: accepted},
				{Word: "refused", Result: "n/a", Verifier: refused, Detail: "the verifier refuses it: R0 invalid\nbaked: reads x"},
			}},
			{Object: "a.o", Program: `<script>alert("1")</script>`, Hook: "xdp", Cells: []MatrixCell{
				{Word: "differs", Result: "differs", Detail: "x < y"}, {Word: "differs", Result: "differs", Detail: "x < y"}, {Word: "differs", Result: "differs", Detail: "z"},
			}},
		},
	}
}

func TestMatrixPageStandsAlone(t *testing.T) {
	var b strings.Builder
	require.NoError(t, WriteMatrixHTML(&b, htmlDocument()))
	page := b.String()
	for _, no := range []string{"<script", "http:", "https:", "src=", "@import", "url("} {
		assert.NotContains(t, page, no, "it needs neither network nor scripts")
	}
	assert.Contains(t, page, "&lt;script&gt;", "names are escaped")
	assert.Contains(t, page, "if (a &lt; b &amp;&amp; c) x = *v;")
	assert.Contains(t, page, "prefers-color-scheme: dark")
	assert.Contains(t, page, `name="viewport"`)
}

func TestEveryCellOpensAPanel(t *testing.T) {
	var b strings.Builder
	require.NoError(t, WriteMatrixHTML(&b, htmlDocument()))
	page := b.String()
	cells := regexp.MustCompile(`class="cell [a-z]+" href="#(p\d+)"`).FindAllStringSubmatch(page, -1)
	require.Len(t, cells, 6)
	panels := map[string]bool{}
	for _, m := range cells {
		panels[m[1]] = true
		assert.Equal(t, 1, strings.Count(page, `<section class="panel" id="`+m[1]+`"`), m[1])
	}
	assert.Len(t, panels, 4, "cells of a row that say the same share one")
	assert.Len(t, regexp.MustCompile(`class="close" href="#(r\d+)"`).FindAllString(page, -1), 4)
	for _, want := range []string{"EACCES at instruction 7", "a.bpf.c:75", "branches: 3 taken", "accepted, 95 instructions processed, 8 states", "<pre>baked: reads x</pre>"} {
		assert.Contains(t, page, want)
	}
	assert.NotContains(t, page, "<pre>the verifier refuses it", "the verdict says it")
}
