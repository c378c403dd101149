package fuzz

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// corpusExt ends the names of corpus files.
const corpusExt = ".input.json"

// mostCorpus is the largest number of files that are read from a directory.
const mostCorpus = 100_000

// loadCorpus reads the inputs of the corpus and of those that are merged into it. What is no input
// of this object is left out with a note.
func (f *Fuzzer) loadCorpus() ([]*Input, error) {
	var out []*Input
	for i, dir := range append([]string{f.opt.Corpus}, f.opt.Merge...) {
		if dir == "" {
			continue
		}
		list, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) && i == 0 {
			continue // it is made at the end
		}
		if err != nil {
			return nil, err
		}
		if len(list) > mostCorpus {
			f.note("corpus %s: only the first %d of %d files are read", dir, mostCorpus, len(list))
			list = list[:mostCorpus]
		}
		for _, e := range list {
			if !strings.HasSuffix(e.Name(), corpusExt) {
				continue
			}
			path := filepath.Join(dir, e.Name())
			in, err := f.readInput(path)
			if err != nil {
				f.note("corpus: %s is left out: %v", path, err)
				continue
			}
			out = append(out, in)
		}
	}
	return out, nil
}

// readInput reads and checks a file of a corpus.
func (f *Fuzzer) readInput(path string) (*Input, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxInputFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxInputFile {
		return nil, fmt.Errorf("more than %d bytes", maxInputFile)
	}
	in, err := decodeInput(data)
	if err != nil {
		return nil, err
	}
	return in, f.check(in)
}

// check checks the names in an input that comes from outside.
func (f *Fuzzer) check(in *Input) error {
	m := f.first.whole.Machine()
	for _, e := range in.Events {
		if !slices.Contains(f.order, e.Run) {
			return fmt.Errorf("run %q is not searched", e.Run)
		}
		sp := f.space.runs[e.Run]
		if e.Packet != nil && (sp.packet == nil || len(e.Packet) < sp.least || len(e.Packet) > sp.most) {
			return fmt.Errorf("run %q takes no packet of %d bytes", e.Run, len(e.Packet))
		}
		if err := f.checkUser(&e); err != nil {
			return err
		}
		if err := sp.checkCall(&e); err != nil {
			return fmt.Errorf("run %q: %w", e.Run, err)
		}
		for _, h := range e.Helpers {
			if !slices.Contains(sp.helpers, h.Helper) && !slices.Contains(m.Calls(f.first.runs[e.Run].Prog), h.Helper) {
				return fmt.Errorf("run %q does not call %q", e.Run, h.Helper)
			}
		}
	}
	for _, e := range in.Maps {
		def, ok := m.Linked().Map(e.Map)
		if !ok {
			return fmt.Errorf("there is no map %q", e.Map)
		}
		if e.In != nil {
			if b, ok := m.Map(def); !ok || b.Spec().Inner == nil || len(e.In) != int(b.Spec().KeySize) || len(e.Key) != int(b.Spec().Inner.KeySize) || len(e.Value) != int(b.Spec().Inner.ValueSize) {
				return fmt.Errorf("an element of a map in map %q has another size", e.Map)
			}
			continue
		}
		if b, ok := m.Map(def); !ok || len(e.Key) != int(b.Spec().KeySize) || len(e.Value) != int(b.Spec().ValueSize) {
			return fmt.Errorf("an element of map %q has another size", e.Map)
		}
	}
	for _, g := range in.Globals {
		if b, err := m.ReadVariable(g.Name); err != nil || len(b) != len(g.Value) {
			return fmt.Errorf("there is no variable %q of %d bytes", g.Name, len(g.Value))
		}
	}
	return f.checkLinks(in)
}

// saveCorpus writes the inputs that reached something first, each under the hash of its content,
// and removes those that others made superfluous when directories are merged.
func (f *Fuzzer) saveCorpus() error {
	if f.opt.Corpus == "" {
		return nil
	}
	if err := os.MkdirAll(f.opt.Corpus, 0o777); err != nil {
		return err
	}
	for _, e := range f.corpus {
		data := e.in.encode()
		sum := sha256.Sum256(data)
		path := filepath.Join(f.opt.Corpus, fmt.Sprintf("%x%s", sum[:10], corpusExt))
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		if err := writeFile(path, append(data, '\n')); err != nil {
			return err
		}
	}
	return nil
}
