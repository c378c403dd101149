package repl

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// arguments are what commands take, or do not.
var arguments = []string{
	"", "0", "1", "2", "7", "-1", "99999999999", "0x10", "x", "on", "off", "all", "no", "main", "/x", "/2 $r1", "/4xb $r10", "$r1", "$r10 - 8", "$r0 + 1", "*ctx", "ctx", "&ctx", "(char)65", "1/0", "(", ")", "'a'", "\"a\"", "1, 2",
	"*0", "*8", ":9", "none.c:9", "none", "+1", "+1 if 1", "1 if $r1", "1 x", "1 2", "1-3", "3-1", "if $r1 > 0", "$r1 = 5", "$r1 == 5", "$x = 3", "$x", "$1", "$insns", "pkt", "pkt[0]", "pkt[12:14]", "pkt.ip.ttl", "pkt[70000]",
	"-h", "-f", "struct task_struct", "int", "enum none", "task_struct", "current", "current->pid", "current->none", "current->comm", "*current", "sizeof(int)", "a b c", "%d\", 1", "\"%d %s\\n\", 1", "maps", "registers", "breakpoints", "frame", "locals", "display", "events", "stack", "insn", "source", "program", "objects", "threads", "signals",
}

// places are where a session is when a command is carried out.
var places = []struct{ name, object, commands string }{
	{"before the start", "examples/xdp/xdp.bpf.o", ""},
	{"at the start", "examples/xdp/xdp.bpf.o", "run"},
	{"inside", "examples/xdp/xdp.bpf.o", "run\nstepi 9\nwatch $r2\nbreak *30\ntbreak *20\ndisplay $r1"},
	{"in a callback", "examples/loop/loop.bpf.o", "break climb_one\nrun\ncontinue\nup"},
	{"at a fault", "testdata/objects/clang-14/faults.o", "run err_null_lookup\ncontinue"},
	{"at the end", "examples/exec/exec.bpf.o", "run\nbreak *5\ncontinue\ncontinue"},
	{"going back", "examples/exec/exec.bpf.o", "run\nstepi 20\ncheckpoint\nreverse-stepi 5"},
}

// TestEveryCommandWithEveryArgument carries out each command with many arguments in many places,
// and compares what it says and which errors it returns.
func TestEveryCommandWithEveryArgument(t *testing.T) {
	var names []string
	for _, c := range table {
		if !slices.Contains([]string{"quit", "source", "transcript", "kernel", "directory", "tui"}, c.name) { // of files of the host
			names = append(names, c.name)
		}
	}
	var all rewrite.Outcomes
	for i, p := range places {
		for j, name := range names {
			var out bytes.Buffer
			s := session(t, p.object)
			r := New(s, Config{Out: &out})
			ctx := context.Background()
			for line := range strings.Lines(p.commands) {
				if err := r.Execute(ctx, strings.TrimSpace(line)); err != nil {
					all.Add(fmt.Sprint(p.name, j, line), "on the way: "+err.Error())
				}
			}
			for k, arg := range arguments {
				if (i+j+k)%6 != 0 {
					continue
				}
				line := strings.TrimSpace(name + " " + arg)
				if strings.HasPrefix(arg, "/") {
					line = name + arg
				}
				out.Reset()
				said := ""
				if err := r.Execute(ctx, line); err != nil {
					said = "error: " + err.Error()
				} else if first, _, _ := strings.Cut(out.String(), "\n"); first != "" {
					said = first
				}
				if len(arg) > 1 { // so that there is one line for many arguments
					said = strings.ReplaceAll(said, arg, "ARG")
				}
				all.Add(p.name+": "+line, name+": "+said+"\t"+out.String())
			}
			s.Close()
		}
	}
	all.Compare(t, filepath.Join("testdata", "everycommand.txt"))
}
