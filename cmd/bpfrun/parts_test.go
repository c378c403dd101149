package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/record"
)

func TestTextsInListsAreQuotedWhereTheyMustBe(t *testing.T) {
	for text, want := range map[string]string{
		"a": "a", "Z": "Z", "a9": "a9", "a0": "a0", "az/._-AZ": "az/._-AZ", "a:": "'a:'", "a`": "'a`'", "a{": "'a{'", "a@": "'a@'", "a[": "'a['", "9a": "'9a'", "-a": "'-a'", ".a": "'.a'", "_a": "'_a'", "": "''", "it's": "'it''s'", "a b": "'a b'",
	} {
		assert.Equal(t, want, quotedList([]string{text}))
	}
	assert.Equal(t, "a, 'b c'", quotedList([]string{"a", "b c"}))
}

func TestLinesOfKallsyms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kallsyms")
	require.NoError(t, os.WriteFile(path, []byte("ffff1 T first\nffff2 t first\nffff3 TT two\nffff4 1 digit\nffff5 T\nxyz T wrong\n\nffff6 d data [module]\n10 A low\n"), 0o600))
	syms, err := readKallsyms(path)
	require.NoError(t, err)
	assert.Equal(t, map[string]uint64{"first": 0xffff1, "data": 0xffff6, "low": 0x10}, syms)
	require.NoError(t, os.WriteFile(path, []byte("nothing\n"), 0o600))
	_, err = readKallsyms(path)
	assert.ErrorContains(t, err, "has no symbol lines")
}

func TestVectorsWithoutAFileAreStandardOutput(t *testing.T) {
	for _, path := range []string{"", "-", filepath.Join(t.TempDir(), "f")} {
		var out bytes.Buffer
		w, err := (&console{stdout: &out}).createVectors(path)
		require.NoError(t, err, path)
		_, err = io.WriteString(w, "x")
		require.NoError(t, err)
		require.NoError(t, w.Close())
		assert.Equal(t, len(path) < 2, out.String() == "x", path)
	}
}

// TestWhatWasRecordedIsSummarised: each part is told when there is something to tell.
func TestWhatWasRecordedIsSummarised(t *testing.T) {
	for _, tt := range []struct {
		sum  record.Summary
		want string
	}{
		{record.Summary{Events: 1, Lines: 2}, "bpfrun record: 1 event of 2 lines\n"},
		{record.Summary{}, "bpfrun record: 0 events of 0 lines\n"},
		{record.Summary{Events: 2, Lines: 9, Skipped: 1, Lost: 3, Cut: true}, "bpfrun record: 2 events of 9 lines; 1 line without an event; the kernel lost 3 events; more were not written (--limit)\n"},
		{record.Summary{Lines: 1, Others: []string{"a", "b"}}, "bpfrun record: 0 events of 1 line\nbpfrun record: --hook h: no event is at it; there are events at a, b\n"},
		{record.Summary{Events: 1, Lines: 1, Others: []string{"a"}}, "bpfrun record: 1 event of 1 line\n"},
		{record.Summary{Events: 1, Lines: 1, Left: map[string]int{"b": 1, "a": 1, "c": 2}}, "bpfrun record: 1 event of 1 line\nbpfrun record: left out 2 times: c\nbpfrun record: left out 1 time: a\nbpfrun record: left out 1 time: b\n"},
	} {
		var out bytes.Buffer
		c := &recordCommand{console: &console{stderr: &out}, hooks: []string{"h"}}
		c.summarise(tt.sum)
		assert.Equal(t, tt.want, out.String())
		out.Reset()
		c.quiet = true
		c.summarise(tt.sum)
		assert.Empty(t, out.String())
	}
}

func TestNamesOfRunsAreCompleted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.yaml")
	require.NoError(t, os.WriteFile(file, []byte("runs: [{name: one, prog: p}, {prog: two}]\n"), 0o600))
	for _, tt := range []struct {
		scenario string
		flag     bool
		args     []string
		want     []string
	}{
		{"", false, nil, nil},
		{"", true, nil, nil},
		{file, true, nil, []string{"one", "two"}},
		{"", true, []string{file, "x.o"}, []string{"one", "two"}},
		{"", false, []string{filepath.Join(filepath.Dir(file), "none.yaml")}, nil},
	} {
		cmd := &cobra.Command{}
		if tt.flag {
			cmd.Flags().String("scenario", tt.scenario, "")
		}
		got, _ := runs(cmd, tt.args, "")
		assert.Equal(t, tt.want, got)
	}
}
