package main

import (
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func factsOf(t *testing.T, name, src string) facts {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments)
	require.NoError(t, err)
	var got facts
	got.add(name, f)
	return got
}

func TestFactsOfSources(t *testing.T) {
	for name, tt := range map[string]struct {
		file, src string
		want      facts
	}{
		"nothing":                    {"a.go", "package a\nfunc Go() {}", facts{}},
		"go statement":               {"a.go", "package a\nfunc f() { go f() }", facts{goroutines: true}},
		"wait group":                 {"a.go", "package a\nfunc f() { wg.Go(f) }", facts{goroutines: true}},
		"timer":                      {"a.go", "package a\nfunc f() { time.AfterFunc(1, f) }", facts{goroutines: true}},
		"goroutine of a test":        {"a_test.go", "package a\nfunc TestA(t *testing.T) { f() }\nfunc f() { go f() }\nfunc TestB(t *testing.T) {}", facts{tests: []string{"TestA", "TestB"}}},
		"parallel tests":             {"a_test.go", "package a\nfunc TestA(t *testing.T) { t.Parallel() }", facts{tests: []string{"TestA"}}},
		"file of a processor":        {"a_arm64.go", "package a", facts{processor: true}},
		"constraint":                 {"a.go", "//go:build linux && (amd64 || arm64)\n\npackage a", facts{processor: true}},
		"comment after the package":  {"a.go", "package a\n\n//go:build arm64\n", facts{}},
		"asks":                       {"a.go", "package a\nvar x = runtime.GOARCH", facts{processor: true}},
		"byte order":                 {"a.go", "package a\nvar x = binary.NativeEndian", facts{processor: true}},
		"a test that asks":           {"a_test.go", "package a\nvar x = runtime.GOARCH", facts{}},
		"fuzz targets":               {"a_test.go", "package a\nfunc FuzzA(f *testing.F) {}\nfunc FuzzB(f *testing.F) {}", facts{fuzz: []string{"FuzzA", "FuzzB"}}},
		"a method is no fuzz target": {"a_test.go", "package a\nfunc (t T) FuzzA(f *testing.F) {}", facts{}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tt.want, factsOf(t, tt.file, tt.src)) })
	}
}

func TestSuitesFollowImports(t *testing.T) {
	const m = "example.com/m"
	tests := []string{"x_test.go"}
	all := []*pkg{
		{ImportPath: m + "/pool", TestGoFiles: tests, facts: facts{goroutines: true}},
		{ImportPath: m + "/user", XTestGoFiles: tests, Imports: []string{m + "/pool"}},
		{ImportPath: m + "/far", TestGoFiles: tests, Imports: []string{m + "/user"}},
		{ImportPath: m + "/own", TestGoFiles: tests, facts: facts{tests: []string{"TestOwn"}}},
		{ImportPath: m + "/both", TestGoFiles: tests, Imports: []string{m + "/pool"}, facts: facts{tests: []string{"TestBoth"}}},
		{ImportPath: m + "/internal/testing/probe", TestGoFiles: tests, facts: facts{goroutines: true}},
		{ImportPath: m + "/probed", TestGoFiles: tests, TestImports: []string{m + "/internal/testing/probe"}},
		{ImportPath: m + "/ownuser", TestGoFiles: tests, Imports: []string{m + "/own"}},
		{ImportPath: m + "/untested", facts: facts{goroutines: true, processor: true}},
		{ImportPath: m + "/jit", TestGoFiles: tests, facts: facts{processor: true}},
		{ImportPath: m + "/engine", TestGoFiles: tests, Imports: []string{m + "/jit"}},
		{ImportPath: m + "/vm", TestGoFiles: tests},
		{ImportPath: m + "/cmd/tool", TestGoFiles: tests, facts: facts{processor: true}},
	}
	assert.Equal(t, []string{m + "/pool", m + "/user", m + "/both", m + "/internal/testing/probe"}, concurrent(all, m))
	names, packages := concurrentTests(all, m)
	assert.Equal(t, []string{"TestOwn"}, names)
	assert.Equal(t, []string{m + "/own"}, packages)
	assert.Equal(t, []string{m + "/jit", m + "/engine", m + "/vm"}, processor(all, m))
}
