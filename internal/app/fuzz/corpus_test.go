package fuzz_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/app/fuzz"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
)

// TestCorpusIsTheBeginningOfTheNextSearch: what one search kept the next one reaches at once.
func TestCorpusIsTheBeginningOfTheNextSearch(t *testing.T) {
	corpus := t.TempDir()
	long := search(t, gates, fuzz.Options{Runs: 8000, Seed: 1, Corpus: corpus})
	files, err := filepath.Glob(corpus + "/*.input.json")
	require.NoError(t, err)
	require.Len(t, files, long.Corpus)
	again := search(t, gates, fuzz.Options{Runs: 1, Seed: 1, Corpus: corpus})
	for i, p := range long.Programs {
		assert.Equal(t, p.Reached, again.Programs[i].Reached, p.Name)
	}
	merged := filepath.Join(t.TempDir(), "merged")
	from := search(t, gates, fuzz.Options{Runs: 1, Seed: 1, Corpus: merged, Merge: []string{corpus}})
	assert.Equal(t, again.Programs, from.Programs)
	more, err := filepath.Glob(merged + "/*.input.json")
	require.NoError(t, err)
	assert.NotEmpty(t, more)
	assert.LessOrEqual(t, len(more), len(files))
}

// TestHostileCorpus: files that are no inputs of the object are left out by name, whatever they
// contain.
func TestHostileCorpus(t *testing.T) {
	corpus := t.TempDir()
	for name, text := range map[string]string{
		"json": "{", "list": "[]", "empty": "", "two": `{"events":[{"run":"right"}]} {}`, "none": `{"events":[]}`, "key": `{"evants":[]}`, "run": `{"events":[{"run":"nosuch"}]}`,
		"many": `{"events":[` + strings.Repeat(`{"run":"right"},`, 100) + `{"run":"right"}]}`, "hex": `{"events":[{"run":"right","packet":"xyz"}]}`,
		"short": `{"events":[{"run":"right","packet":"00"}]}`, "map": `{"maps":[{"map":"nosuch","key":"","value":""}],"events":[{"run":"right"}]}`,
		"size": `{"maps":[{"map":"config","key":"00000000","value":"00"}],"events":[{"run":"right"}]}`, "global": `{"globals":[{"name":"strict","value":"00"}],"events":[{"run":"right"}]}`,
		"helper": `{"events":[{"run":"right","helpers":[{"helper":"bpf_nosuch","returns":[1]}]}]}`, "nothing": `{"events":[{"run":"again","helpers":[{"helper":"bpf_map_update_elem","returns":[]}]}]}`,
		"time": `{"events":[{"run":"right","after":-1}]}`, "cpu": `{"events":[{"run":"right","cpu":-9}]}`, "large": `{"events":[{"run":"right","packet":"` + strings.Repeat("00", 1<<20) + `"}]}`,
		"link": `{"links":[{"name":"nosuch.sk","to":"null"}],"events":[{"run":"right"}]}`, "pointer": `{"events":[{"run":"right","links":[{"name":"ctx","to":"$x"}]}]}`,
		"user":   `{"events":[{"run":"right","user":[{"name":"buf","data":"00"}]}]}`,
		"inner":  `{"maps":[{"map":"config","in":"00000000","key":"00000000","value":"00000000"}],"events":[{"run":"right"}]}`,
		"option": `{"events":[{"run":"right","option":"00"}]}`, "sysctl": `{"events":[{"run":"right","sysctl":{"name":"/kernel","value":"","write":true}}]}`,
		"deep": strings.Repeat("[", 100_000),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(corpus, name+".input.json"), []byte(text), 0o600))
	}
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(corpus, "endless.input.json")))
	require.NoError(t, os.Mkdir(filepath.Join(corpus, "dir.input.json"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(corpus, "README"), nil, 0o600))
	before := tree(t, corpus+"/")
	var notes []string
	search(t, gates, fuzz.Options{Runs: 1, Seed: 1, Corpus: corpus, Note: func(text string) { notes = append(notes, text) }})
	assert.Len(t, notes, 27)
	for _, n := range notes {
		assert.Contains(t, n, "is left out: ")
	}
	after := tree(t, corpus+"/")
	for name, data := range before {
		assert.Equal(t, data, after[name], "the user's files stay")
	}
}

// TestInterruptedSearchKeepsWhatItFound: a search whose context ends writes what it has.
func TestInterruptedSearchKeepsWhatItFound(t *testing.T) {
	object := inDir(t, gates)
	keep := filepath.Join(filepath.Dir(object), "found")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f := prepare(t, object, fuzz.Options{Time: time.Hour, Seed: 3, Keep: keep, Corpus: keep + "/corpus", Workers: 2, Progress: func(p fuzz.Progress) {
		if p.Findings > 1 {
			cancel()
		}
	}})
	defer f.Close()
	r, err := f.Run(ctx)
	require.NoError(t, err)
	require.NotEmpty(t, r.Findings)
	for _, x := range r.Findings {
		assert.FileExists(t, x.Scenario)
	}
	files, err := filepath.Glob(keep + "/corpus/*.input.json")
	require.NoError(t, err)
	assert.NotEmpty(t, files)
}

// TestNoRoomIsAnError: a directory that cannot be written is an error, not a search without
// results.
func TestNoRoomIsAnError(t *testing.T) {
	object := inDir(t, gates)
	blocked := filepath.Join(filepath.Dir(object), "file")
	require.NoError(t, os.WriteFile(blocked, []byte("x"), 0o600))
	for _, opt := range []fuzz.Options{{Keep: blocked}, {Corpus: blocked}} {
		opt.Runs, opt.Seed = 400, 1
		f := prepare(t, object, opt)
		_, err := f.Run(context.Background())
		require.Error(t, err)
		assert.ErrorContains(t, err, "file")
		f.Close()
	}
}

// TestAnotherObjectInItsPlace: a build that replaces the object while it is searched, or takes it
// away, is named, and what was found is kept.
func TestAnotherObjectInItsPlace(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(path string) error
		want   string
	}{
		{"another", func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) }, "changed while it was searched"},
		{"none", os.Remove, "is not there any more"},
	} {
		object := inDir(t, gates)
		keep := filepath.Join(filepath.Dir(object), "found")
		var notes []string
		f := prepare(t, object, fuzz.Options{Runs: 20_000, Seed: 2, Keep: keep, Corpus: keep + "/corpus", Note: func(text string) { notes = append(notes, text) }})
		require.NoError(t, c.change(object))
		r, err := f.Run(context.Background())
		f.Close()
		require.NoError(t, err, c.name)
		require.NotEmpty(t, r.Findings, c.name)
		for _, x := range r.Findings {
			assert.FileExists(t, x.Scenario)
		}
		require.Len(t, notes, 1, c.name)
		assert.Contains(t, notes[0], c.want)
		files, err := filepath.Glob(keep + "/corpus/*.input.json")
		require.NoError(t, err)
		assert.NotEmpty(t, files, c.name)
	}
}

// TestIgnoredAndFixed: what is ignored is not found, and what is fixed not changed.
func TestIgnoredAndFixed(t *testing.T) {
	ignore, err := finding.ParseIgnore("packet:layers")
	require.NoError(t, err)
	for _, f := range search(t, gates, fuzz.Options{Runs: 4000, Seed: 3, Ignore: []finding.Ignore{ignore}}).Findings {
		assert.NotEqual(t, "layers", f.Program)
	}
	vary, err := fuzz.Varied(nil, []string{"maps", "globals"})
	require.NoError(t, err)
	for _, f := range search(t, gates, fuzz.Options{Runs: 4000, Seed: 3, Vary: vary}).Findings {
		assert.NotEqual(t, "settings", f.Program, "needs an element and a constant")
	}
	vary, err = fuzz.Varied([]string{"maps"}, nil)
	require.NoError(t, err)
	for _, f := range search(t, gates, fuzz.Options{Runs: 4000, Seed: 3, Vary: vary}).Findings {
		assert.NotEqual(t, "layers", f.Program, "needs a packet")
	}
	_, err = fuzz.Varied([]string{"weather"}, nil)
	require.ErrorContains(t, err, "want packet")
}

// TestDifferences: two builds that do different things with one input of many, and one build with
// itself.
func TestDifferences(t *testing.T) {
	object := inDir(t, "../../../docs/tutorial/fixed.bpf.o")
	keep := filepath.Join(filepath.Dir(object), "found")
	differs := func(other string, keep string) (out []string) {
		for _, f := range search(t, object, fuzz.Options{Runs: 1500, Seed: 1, Keep: keep, Others: []fuzz.Other{{Name: "old", Object: open(t, other), Target: target(t)}}}).Findings {
			if f.Kind == finding.Differs {
				out = append(out, f.Text)
			}
		}
		return out
	}
	assert.Empty(t, differs(object, ""))
	require.NotEmpty(t, differs("../../../docs/tutorial/exits.bpf.o", keep))
	for file, list := range failures(t, object, keep+"/differs-*.yaml") {
		assert.NotEmpty(t, list, file)
	}
}

// TestInvariants: those of the file with the seeds are checked, and the file of a finding has them.
func TestInvariants(t *testing.T) {
	object := inDir(t, "../../../examples/portmap/portmap.bpf.o")
	keep := filepath.Join(filepath.Dir(object), "found")
	file := []byte("object: " + object + "\nruns:\n- prog: portmap\n  packet: eth/ip/tcp(dport=80)\n  expect: {ret: XDP_PASS}\n" +
		"invariants:\n- {name: the TTL stays, when: has(pkt.ip.ttl), holds: pkt.ip.ttl == old(pkt.ip.ttl)}\n- {name: nothing is mapped, holds: sum(mapped) == 0}\n")
	r := search(t, object, fuzz.Options{Runs: 4000, Seed: 1, Keep: keep, Text: file, Path: filepath.Join(filepath.Dir(object), "p.yaml")})
	var names []string
	for _, f := range r.Findings {
		if f.Kind == finding.Invariant {
			names = append(names, f.Invariant)
		}
	}
	assert.Equal(t, []string{"nothing is mapped"}, names)
	for file, list := range failures(t, object, keep+"/invariant-*.yaml") {
		require.Len(t, list, 1, file)
		assert.Contains(t, list[0], "nothing is mapped")
	}
}
