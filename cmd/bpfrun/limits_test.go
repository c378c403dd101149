package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/app/races"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/assembly"
	"github.com/bpfrun/bpfrun/internal/elfbuild"
	"github.com/bpfrun/bpfrun/internal/find/race"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/scenario"
)

// TestSmallTypesGoIntoADirectory that exists, under the kernel's name; else the output is their file.
func TestSmallTypesGoIntoADirectory(t *testing.T) {
	dir := t.TempDir()
	for out, want := range map[string]string{dir: filepath.Join(dir, "linux-6.12.107-amd64.min.btf"), filepath.Join(dir, "new.btf"): filepath.Join(dir, "new.btf")} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, exitOK, run([]string{"btf", "min", anyBTF, execObject, "-o", out}, &stdout, &stderr), stderr.String())
		info, err := os.Stat(want)
		if assert.NoError(t, err) {
			assert.True(t, info.Mode().IsRegular())
		}
	}
}

// TestDoctorFailsWithProblemsOnly: notes are none.
func TestDoctorFailsWithProblemsOnly(t *testing.T) {
	for _, project := range []string{"off", filepath.Join(t.TempDir(), "none.yaml")} {
		t.Setenv(projectVariable, project)
		t.Setenv("PATH", t.TempDir()) // nothing that it could run as a test
		var stdout, stderr bytes.Buffer
		code := run([]string{"doctor", "--json"}, &stdout, &stderr)
		var doc report.DoctorDocument
		require.NoError(t, json.Unmarshal(stdout.Bytes(), &doc))
		problems := 0
		for _, c := range doc.Checks {
			if c.Result == report.DoctorBad {
				problems++
			}
		}
		assert.Equal(t, problems > 0, code == exitExpectation, "%d problems, exit code %d", problems, code)
		assert.Equal(t, code, doc.Exit)
	}
}

// TestHowLongMergesSearch: not at all, unless a time or a number of runs is given.
func TestHowLongMergesSearch(t *testing.T) {
	for _, tt := range []struct {
		flags      string
		time, runs string
	}{
		{"", "1m0s", "0"}, {"--runs 5", "0s", "5"}, {"--time 3s", "3s", "0"}, {"--runs 5 --time 3s", "3s", "5"},
		{"--merge d", "0s", "1"}, {"--merge d --time 3s", "3s", "0"}, {"--merge d --runs 5", "0s", "5"}, {"--merge d --runs 5 --time 3s", "3s", "5"},
	} {
		cmd := newFuzzCommand(newApp(&bytes.Buffer{}, &bytes.Buffer{}))
		cmd.Flags().Uint64("max-insns", 0, "")
		require.NoError(t, cmd.ParseFlags(strings.Fields(tt.flags)))
		require.Error(t, cmd.RunE(cmd, []string{filepath.Join(t.TempDir(), "none.o")}))
		assert.Equal(t, [2]string{tt.time, tt.runs}, [2]string{cmd.Flags().Lookup("time").Value.String(), cmd.Flags().Lookup("runs").Value.String()}, tt.flags)
	}
}

// TestFlagsOfProjectsTakeOneValue, but for those that can be repeated.
func TestFlagsOfProjectsTakeOneValue(t *testing.T) {
	object, err := filepath.Abs(execObject)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "bpfrun.yaml")
	t.Setenv(projectVariable, path)
	for flags, want := range map[string]string{
		"seed: 1": "", "seed: [1]": "", "seed: [1, 2]": "takes one value", "ignore: [leak, limit]": "", "ignore: leak": "",
	} {
		require.NoError(t, os.WriteFile(path, []byte("flags: {"+flags+"}\n"), 0o600))
		var stdout, stderr bytes.Buffer
		code := run([]string{"run", object, "--btf", "embedded"}, &stdout, &stderr)
		assert.Equal(t, want == "", code == exitOK, "%s: %s", flags, stderr.String())
		assert.Contains(t, stderr.String(), want, flags)
	}
}

// TestFindingsOfSimulationsAreKept by their place in the document: also the first, and not those that
// it has already.
func TestFindingsOfSimulationsAreKept(t *testing.T) {
	c := &raceCommand{simulated: map[int]race.Finding{}}
	doc := &report.RaceDocument{}
	meeting := race.Meeting{Name: "a and b", Actors: []race.Actor{{Program: "a", Over: -1}, {Program: "b", Over: -1}}}
	found := func(text string) race.Finding {
		return race.Finding{Kind: finding.NotSerialisable, Text: text, Sides: []race.Side{{Program: "a", Insn: len(text)}}}
	}
	c.addMeeting(doc, meeting, &race.Report{Findings: []race.Finding{found("x"), found("xy")}}, races.Options{})
	c.addMeeting(doc, meeting, &race.Report{Findings: []race.Finding{found("x"), found("xyz")}}, races.Options{})
	require.Len(t, c.simulated, len(doc.Findings))
	for at, f := range c.simulated {
		assert.Equal(t, doc.Findings[at].Message, f.Text)
	}
	assert.Contains(t, c.simulated, 0)
}

// TestRacesAreWrittenWithTheRunsBefore them, each program once.
func TestRacesAreWrittenWithTheRunsBefore(t *testing.T) {
	const text = "object: x.o\nruns: [{name: one, prog: p}]\n"
	for _, tt := range []struct {
		after  bool
		actors string
		want   string
	}{
		{false, "p q", ""}, {true, "p q", "before: [p, q]"}, {true, "p p", "before: [p]"}, {true, "p p q", "before: [p, q]"},
	} {
		file, err := scenario.Parse("x.yaml", []byte(text))
		require.NoError(t, err)
		s := &raceScene{c: &raceCommand{raceOptions: raceOptions{scenario: "x.yaml"}}, file: file, text: []byte(text)}
		f := &report.RaceFinding{Race: "r", AfterRuns: tt.after}
		for name := range strings.FieldsSeq(tt.actors) {
			f.Actors = append(f.Actors, report.RaceActor{Name: name, Program: name})
		}
		out, err := s.written("x.o", f)
		require.NoError(t, err)
		if tt.want == "" {
			assert.NotContains(t, out, "before:")
		} else {
			assert.Contains(t, out, "  "+tt.want+"\n")
		}
	}
}

// TestNotesOfBuilds: the id of the go command has four hashes; other notes, and those that say more
// than they have, are none.
func TestNotesOfBuilds(t *testing.T) {
	hash := strings.Repeat("h", 20)
	id := strings.Join([]string{hash, hash, hash, hash}, "/")
	size := uint32(len(id))
	note := func(owner, id string, size uint32) []byte {
		b := binary.LittleEndian.AppendUint32(nil, 4)
		b = binary.LittleEndian.AppendUint32(b, size)
		return append(append(binary.LittleEndian.AppendUint32(b, 4), owner...), id...)
	}
	for name, tt := range map[string]struct {
		section string
		data    []byte
		want    string
	}{
		"the id":              {".note.go.buildid", note("Go\x00\x00", id, size), id},
		"and bytes behind it": {".note.go.buildid", note("Go\x00\x00", id+"xxxx", size), id},
		"another section":     {".note.gnu.build-id", note("Go\x00\x00", id, size), ""},
		"another owner":       {".note.go.buildid", note("GNU\x00", id, size), ""},
		"too short":           {".note.go.buildid", note("Go\x00\x00", id, size+1), ""},
		"much too short":      {".note.go.buildid", note("Go\x00\x00", id, 1<<31), ""},
		"only a head":         {".note.go.buildid", note("Go\x00\x00", "", 0), ""},
		"less than a head":    {".note.go.buildid", note("Go\x00", "", 0), ""},
		"three hashes":        {".note.go.buildid", note("Go\x00\x00", id[21:], size-21), ""},
		"a short hash":        {".note.go.buildid", note("Go\x00\x00", id[6:], size-6), ""},
		"redacted":            {".note.go.buildid", note("Go\x00\x00", "redacted", 8), ""},
	} {
		b := elfbuild.New(binary.LittleEndian)
		b.Section(tt.section, elf.SHT_PROGBITS, elf.SHF_ALLOC, tt.data)
		path := filepath.Join(t.TempDir(), "x")
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
		assert.Equal(t, tt.want, noteID(path), name)
	}
}

// TestChangedPacketsAreListedToALimit: what is listed is as many packets as there may be, and all of
// them are counted.
func TestChangedPacketsAreListedToALimit(t *testing.T) {
	dir := t.TempDir()
	data, err := assembly.Object("x.s", ".prog p xdp\nr2 = *(u32 *)(r1 + 4)\nr1 = *(u32 *)(r1 + 0)\nr0 = 2\nr3 = r1\nr3 += 14\nif r3 > r2 goto out\n*(u8 *)(r1 + 5) = 9\nout:\nexit\n", nil)
	require.NoError(t, err)
	object, capture := filepath.Join(dir, "x.o"), filepath.Join(dir, "in.pcap")
	require.NoError(t, os.WriteFile(object, data, 0o600))
	frame, err := packet.Parse("eth/ip/udp")
	require.NoError(t, err)
	for n, want := range map[int]int{3: 3, report.ListedChanges: report.ListedChanges, report.ListedChanges + 2: report.ListedChanges} {
		w, err := packet.Create(capture)
		require.NoError(t, err)
		for i := range n {
			require.NoError(t, w.Write(packet.Captured{Number: i + 1}, frame, packet.Verdict{}))
		}
		require.NoError(t, w.Close())
		var stdout, stderr bytes.Buffer
		require.Equal(t, exitOK, run([]string{"run", object, "-p", "p", "--btf", "embedded", "--pcap", capture, "--json"}, &stdout, &stderr), stderr.String())
		var doc report.RunDocument
		require.NoError(t, json.Unmarshal(stdout.Bytes(), &doc))
		require.Len(t, doc.Programs, 1)
		require.NotNil(t, doc.Programs[0].Replay, fmt.Sprint(doc.Programs[0]))
		assert.Len(t, doc.Programs[0].Replay.Changes, want)
		assert.Equal(t, n, doc.Programs[0].Replay.Changed)
	}
}
