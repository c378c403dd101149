package main

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/intest"
)

// testInputs finds the scenario files and the objects with tests inside that arguments mean, and opens them. Mistakes in some files are
// in mistakes, and do not keep the others from being returned.
func (c *testCommand) testInputs(args []string) (files, objects []scenarioFile, mistakes, err error) {
	var scenarios, objs []string
	for _, arg := range args {
		s, o, err := testPaths(arg)
		if err != nil {
			return nil, nil, nil, err
		}
		scenarios, objs = append(scenarios, s...), append(objs, o...)
	}
	slices.Sort(scenarios)
	slices.Sort(objs)
	if files, mistakes, err = c.parseScenarios(slices.Compact(scenarios)); err != nil {
		return nil, nil, nil, err
	}
	objs = slices.Compact(objs)
	found := make([]scenarioFile, len(objs))
	inParallel(context.Background(), len(objs), func(i int) { found[i] = c.testObject(objs[i]) })
	for _, f := range found {
		var usage usageError
		switch {
		case errors.As(f.err, &usage):
			return nil, nil, nil, f.err // the file, or a flag
		case f.err != nil && len(files) > 0 && len(objs) == 1:
			continue // its scenario files say the same
		case f.err != nil, f.object != nil:
			objects = append(objects, f)
		}
	}
	if len(files)+len(objects) == 0 && mistakes == nil {
		return nil, nil, nil, noTests(args)
	}
	return files, objects, mistakes, nil
}

// testObject opens an object for the tests in it. Without tests there is neither an object nor an error. That one object cannot
// be used does not keep the others from being tested.
func (c *testCommand) testObject(path string) scenarioFile {
	f := scenarioFile{path: path}
	obj, err := c.objects.open(path)
	if err != nil {
		f.err = err
		return f
	}
	tests, err := intest.Discover(obj)
	if err != nil {
		f.err = codeError{exitUsage, err}
	}
	if err != nil || len(tests) > 0 {
		f.object = obj
	}
	return f
}

// noTests describes where tests would have been.
func noTests(args []string) error {
	first := args[0]
	if info, err := os.Stat(first); err == nil && !info.IsDir() && filepath.Ext(first) == ".o" {
		base := strings.TrimSuffix(strings.TrimSuffix(first, ".o"), ".bpf")
		return usagef("%s: no tests in it (sections TYPE/test/NAME) and no scenario file %s.yaml beside it (bpfrun scenario new %s writes one)", first, base, first)
	}
	return usagef("%s: no scenario files (*.yaml) in this directory, and no objects with tests inside (bpfrun scenario new OBJECT writes a scenario)", first)
}

// testPaths are the scenario files, and the objects that may have tests inside, that an argument means.
func testPaths(arg string) (scenarios, objects []string, err error) {
	info, err := os.Stat(arg)
	switch {
	case err != nil:
		return nil, nil, usageError{err}
	case info.IsDir():
		err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			if isScenario(path) {
				scenarios = append(scenarios, path)
			} else if filepath.Ext(path) == ".o" && mayHaveTests(path) {
				objects = append(objects, path)
			}
			return nil
		})
		if err != nil {
			return nil, nil, usageError{err}
		}
		return scenarios, objects, nil
	case filepath.Ext(arg) != ".o":
		return []string{arg}, nil, nil // also .json, and whatever the user says is one
	}
	base := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(arg), ".o"), ".bpf")
	dir, err := os.ReadDir(filepath.Dir(arg))
	if err != nil {
		return nil, nil, usageError{err}
	}
	for _, e := range dir {
		if isScenario(e.Name()) && strings.HasPrefix(e.Name(), base+".") {
			scenarios = append(scenarios, filepath.Join(filepath.Dir(arg), e.Name()))
		}
	}
	return scenarios, []string{arg}, nil
}

// mayHaveTests reports whether a file found in a directory is worth opening: it holds a section name of a test, or it is a BPF object that
// has been cut off before its section names, which must not go unnoticed. A directory may also hold objects of the host and others
// that are none of ours.
func mayHaveTests(path string) bool {
	data, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	if bytes.Contains(data, []byte("/test/")) {
		return true
	}
	const header = 64 // of an ELF file of 64 bits
	if len(data) < header || string(data[:4]) != elf.ELFMAG || data[elf.EI_DATA] != byte(elf.ELFDATA2LSB) {
		return false
	}
	le := binary.LittleEndian
	machine, sections := elf.Machine(le.Uint16(data[18:])), le.Uint64(data[40:])
	return machine == elf.EM_BPF && sections > uint64(len(data))
}
