//go:build !js

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/app/play"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
)

// examples returns the committed objects.
func examples(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("../../examples/*/*.bpf.o")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	return paths
}

// inNode answers messages in wasm under node.
func inNode(t *testing.T, messages [][]byte) [][]byte {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed (apt-get install nodejs): wasm is not run")
	}
	if !testsize.Long() {
		t.Skip("everything would be compiled for wasm, which takes a minute: make wasm-test does")
	}
	wasm := filepath.Join(t.TempDir(), "bpfrun.wasm")
	build := exec.Command("go", "build", "-o", wasm, ".")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	root, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	run := exec.Command(node, "--stack-size=4096", "testdata/answer.mjs", filepath.Join(strings.TrimSpace(string(root)), "lib/wasm/wasm_exec.js"), wasm)
	run.Stdin = bytes.NewReader(bytes.Join(messages, []byte("\n")))
	var stderr bytes.Buffer
	run.Stderr = &stderr
	answers, err := run.Output()
	require.NoError(t, err, "%s", stderr.String())
	var list [][]byte
	lines := bufio.NewScanner(bytes.NewReader(answers))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		list = append(list, bytes.Clone(lines.Bytes()))
	}
	require.NoError(t, lines.Err())
	return list
}

// Every example does the same in wasm and in native code of this machine: what programs did, their
// code with what ran, verdicts, and a run at its end and in its middle.
func TestWasmEqualsNative(t *testing.T) {
	native := play.New(play.Config{})
	defer native.Close()
	var messages [][]byte
	say := func(m play.Message) {
		m.ID = int64(len(messages) + 1)
		text, err := json.Marshal(m)
		require.NoError(t, err)
		messages = append(messages, text)
	}
	objects := examples(t)
	for i, path := range objects {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		say(play.Message{Do: "open", Name: filepath.Base(path), Data: data})
		var opened struct{ Result play.Opened }
		require.NoError(t, json.Unmarshal(native.Answer(context.Background(), messages[len(messages)-1]), &opened))
		object := opened.Result.Object
		require.NotEmpty(t, object, "%s", path)
		say(play.Message{Do: "run", Object: object})
		say(play.Message{Do: "verify", Object: object})
		if i%4 != 0 {
			continue // the rest adds time, not kinds
		}
		say(play.Message{Do: "code", Object: object})
		for _, p := range opened.Result.Info.Programs {
			say(play.Message{Do: "step", Object: object, Program: p.Name, At: -1})
			say(play.Message{Do: "step", Object: object, Program: p.Name, At: 5})
		}
	}
	say(play.Message{Do: "layout", Type: "task_struct"})
	got := inNode(t, messages)
	require.Len(t, got, len(messages))
	results := 0
	for i, m := range messages {
		want := bytes.ReplaceAll(native.Answer(context.Background(), m), []byte("\n"), nil)
		if strings.Contains(string(got[i]), `"result"`) {
			results++
		}
		if !assert.Equal(t, string(want), string(got[i]), "%.200s", m) {
			return // one difference is enough to look at
		}
	}
	assert.Greater(t, results, 2*len(objects))
}
