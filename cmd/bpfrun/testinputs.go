package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/bpfrun/bpfrun/internal/app/testrun"
	"github.com/bpfrun/bpfrun/internal/intest"
)

// testInputs finds the scenario files and the objects with tests that the arguments name, and opens
// them. Errors of individual files are in mistakes, by path, and do not affect the other files.
func (c *testCommand) testInputs(args []string) (files, objects []testrun.Input, mistakes map[string]error, err error) {
	var scenarios, objs []string
	for _, arg := range args {
		s, o, err := testrun.Paths(arg)
		if err != nil {
			return nil, nil, nil, usageError{err}
		}
		scenarios, objs = append(scenarios, s...), append(objs, o...)
	}
	slices.Sort(scenarios)
	slices.Sort(objs)
	if files, mistakes, err = c.parseScenarios(slices.Compact(scenarios)); err != nil {
		return nil, nil, nil, err
	}
	objs = slices.Compact(objs)
	found := make([]testrun.Input, len(objs))
	testrun.InParallel(context.Background(), len(objs), func(i int) { found[i] = c.testObject(objs[i]) })
	for _, f := range found {
		var usage usageError
		switch {
		case errors.As(f.Err, &usage):
			return nil, nil, nil, f.Err // an error of the file or of a flag
		case f.Err != nil && len(files) > 0 && len(objs) == 1:
			continue // its scenario files have the same error
		case f.Err != nil, f.Object != nil:
			objects = append(objects, f)
		}
	}
	if len(files)+len(objects) == 0 && len(mistakes) == 0 {
		return nil, nil, nil, noTests(args)
	}
	return files, objects, mistakes, nil
}

// testObject opens an object for the tests it contains. Without tests, it returns neither an object
// nor an error. An object that cannot be used does not affect the others.
func (c *testCommand) testObject(path string) testrun.Input {
	f := testrun.Input{Path: path}
	obj, err := c.objects.open(path)
	if err != nil {
		f.Err = err
		return f
	}
	tests, err := intest.Discover(obj)
	if err != nil {
		f.Err = codeError{exitUsage, err}
	}
	if err != nil || len(tests) > 0 {
		f.Object = obj
	}
	return f
}

// noTests describes where tests were looked for.
func noTests(args []string) error {
	first := args[0]
	if info, err := os.Stat(first); err == nil && !info.IsDir() && filepath.Ext(first) == ".o" {
		return usagef("%s: no tests in it (sections TYPE/test/NAME) and no scenario file %s beside it (bpfrun scenario new %s writes one)", first, testrun.ScenarioBeside(first), first)
	}
	return usagef("%s: no scenario files (*.yaml) in this directory, and no objects with tests inside (bpfrun scenario new OBJECT writes a scenario)", first)
}
