package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/app/play"
	"github.com/bpfrun/bpfrun/internal/app/report"
)

// playing starts bpfrun play with arguments, and returns the address that it prints and what ends
// it with its exit code.
func playing(t *testing.T, args ...string) (address string, end func() int) {
	t.Helper()
	out := &lines{found: make(chan string, 1), look: regexp.MustCompile(`is at (\S+)\n`)}
	done := make(chan int, 1)
	go func() { done <- run(append([]string{"play", "--no-open"}, args...), out, &bytes.Buffer{}) }()
	select {
	case address = <-out.found:
	case <-time.After(20 * time.Second):
		t.Fatal("no address")
	}
	return address, func() int {
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGINT))
		select {
		case code := <-done:
			return code
		case <-time.After(20 * time.Second):
			t.Fatal("bpfrun play does not end")
			return -1
		}
	}
}

// The page of bpfrun play has the object, the kernels of --btf, and the native engine behind its
// messages.
func TestPlayServesThePage(t *testing.T) {
	const kernel = "../../testdata/btf/min/linux-5.10.262-amd64-cloud.min.btf"
	address, end := playing(t, "../../examples/exec/exec.bpf.o", "--btf", kernel)
	page, err := url.Parse(address)
	require.NoError(t, err, address)
	ask := func(method, path, body string) string {
		r, err := http.NewRequest(method, page.ResolveReference(&url.URL{Path: path}).String(), strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("X-Bpfrun-Token", page.Query().Get("token"))
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, res.StatusCode, "%s: %s", path, data)
		return string(data)
	}
	assert.Contains(t, ask(http.MethodGet, "/site.json", ""), `"file":"object/exec.bpf.o"`)
	assert.Contains(t, ask(http.MethodGet, "/object/exec.bpf.o", ""), "on_exec")
	assert.Contains(t, ask(http.MethodPost, "/answer", `{"do":"kernels"}`), "linux-5.10.262-amd64-cloud.min")
	http.DefaultClient.CloseIdleConnections()
	assert.Equal(t, exitInterrupted, end())
}

func TestPlayRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want int
	}{
		"no such object": {[]string{"play", "--no-open", "nowhere.o"}, exitUsage},
		"no object":      {[]string{"play", "--no-open", "../../go.mod"}, exitLoad},
		"port":           {[]string{"play", "--no-open", "--port", "70000"}, exitUsage},
		"kernel":         {[]string{"play", "--no-open", "--btf", "nowhere.btf"}, exitUsage},
		"two objects":    {[]string{"play", "--no-open", "a.o", "b.o"}, exitUsage},
		"json":           {[]string{"play", "--no-open", "--json"}, exitUsage},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			assert.Equal(t, c.want, run(c.args, &bytes.Buffer{}, &stderr))
			assert.NotEmpty(t, stderr.String())
		})
	}
}

// What the page shows of a run is what the command prints with --json, for every example.
func TestPlayRunsLikeTheCommand(t *testing.T) {
	objects, err := filepath.Glob("../../examples/*/*.bpf.o")
	require.NoError(t, err)
	require.NotEmpty(t, objects)
	player := play.New(play.Config{})
	defer player.Close()
	ask := func(m play.Message) (result json.RawMessage, failure *report.Error) {
		text, err := json.Marshal(m)
		require.NoError(t, err)
		var a struct {
			Result json.RawMessage
			Error  *report.Error
		}
		require.NoError(t, json.Unmarshal(player.Answer(context.Background(), text), &a))
		return a.Result, a.Error
	}
	for _, path := range objects {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			var opened play.Opened
			result, failure := ask(play.Message{Do: "open", Name: filepath.Base(path), Data: data})
			require.Nil(t, failure)
			require.NoError(t, json.Unmarshal(result, &opened))
			for do, args := range map[string][]string{"run": {path}, "verify": {"verify", path}} {
				var out bytes.Buffer
				run(append(args, "--btf", "embedded", "--json"), &out, &bytes.Buffer{})
				var command struct {
					Results []json.RawMessage
					Error   *report.Error
				}
				require.NoError(t, json.Unmarshal(out.Bytes(), &command))
				result, failure := ask(play.Message{Do: do, Object: opened.Object})
				if len(command.Results) == 0 {
					assert.Equal(t, command.Error, failure, do)
					continue
				}
				require.Nil(t, failure, do)
				var want, got map[string]any
				require.NoError(t, json.Unmarshal(command.Results[0], &want))
				require.NoError(t, json.Unmarshal(result, &got))
				delete(want, "try") // a command line, which a page does not have
				assert.Equal(t, want, got, do)
			}
		})
	}
}
