package repl

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// questions are asked at each stop of a program.
var questions = []string{
	"info args", "info locals", "info frame", "backtrace", "info packet", "info line", "list", "info registers", "info breakpoints", "info display", "info symbol $r1", "info symbol $r10 - 8", "info symbol $pc", "x/4xg $r10 - 32", "x/2a $r10 - 16",
	"x/3i $pc", "why $r0", "why $r1", "why $r2", "why $r3", "why $r6", "why *(long *)($r10 - 8)", "whatis $r1", "print $r2", "print/a $r1", "print *ctx", "print ctx", "print current->comm", "print (bool)5", "print (_Bool)$r10", "print (char)0x141", "print (unsigned char)-1",
	"print htons(0x11234)", "print ntohl(0x123456789)", "print htonl(1)", "print cpu_to_be64(1)", "print pkt[12:14]", "print pkt.eth", "print pkt.ip.ttl + pkt.ip.len", "print pkt.ip.proto == pkt.ip.ttl", "print pkt.ip.proto - 6", "print 6 - pkt.ip.proto",
	"print pkt.ip.len == pkt.tcp.dport", "print pkt.tcp.dport == 80", "print 80 == pkt.tcp.dport", "print pkt.ip.src", "print 1 ? 2 : 3", "print -7 / 2", "print -7 % 2", "print 1 << 63", "print 1 << 64", "print -1 >> 63", "print !0", "print ~0", "print 5 && 0", "print 0 || 7",
	"print sizeof(struct task_struct)", "print &current->pid", "print *(int *)$r10", "ptype struct task_struct *", "why-not 1", "info maps", "info events",
}

// stopped are programs, and how to get to their first stop.
var stopped = []struct{ object, commands string }{
	{"examples/xdp/xdp.bpf.o", "run\nbreak *30\nwatch $r2\ndisplay $r1"},
	{"examples/exec/exec.bpf.o", "run"},
	{"examples/loop/loop.bpf.o", "break climb_one\nrun\ncontinue"},
	{"examples/globals/globals.bpf.o", "run"},
	{"examples/fentry/fentry.bpf.o", "run"},
	{"testdata/objects/clang-14/packets.o", "run"},
	{"testdata/objects/clang-14/faults.o", "run err_null_lookup"},
	{"testdata/objects/clang-14/inlined.o", "run"},
	{"testdata/objects/clang-14/callbacks.o", "run"},
}

// TestEveryQuestionAtEveryStop walks through programs, forth and a little back, and compares all
// answers.
func TestEveryQuestionAtEveryStop(t *testing.T) {
	var all rewrite.Outcomes
	for _, p := range stopped {
		var out bytes.Buffer
		r := New(session(t, p.object), Config{Out: &out})
		say := func(stop int, line, kind string) {
			out.Reset()
			if err := r.Execute(t.Context(), line); err != nil {
				fmt.Fprintf(&out, "error: %v", err)
			}
			all.Add(fmt.Sprint(p.object, stop, line), kind+"\t"+out.String())
		}
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(p.object), ".o"), ".bpf")
		for line := range strings.Lines(p.commands) {
			say(-1, strings.TrimSpace(line), name+": begin")
		}
		for stop, step := range []string{"stepi", "stepi 3", "stepi 4", "step", "next", "reverse-stepi 2", "stepi 5", "up", "down", "finish", "stepi", "continue", "continue"} {
			say(stop, step, name+": go on")
			for i, q := range questions {
				if (i+stop)%2 == 0 {
					command, _, _ := strings.Cut(q, " ")
					say(stop, q, name+": "+command)
				}
			}
		}
	}
	all.Compare(t, filepath.Join("testdata", "everystop.txt"))
}

// TestPointsByNumber: which breakpoints and watchpoints lists of numbers mean.
func TestPointsByNumber(t *testing.T) {
	var all rewrite.Outcomes
	for _, line := range []string{
		"delete", "delete 1", "delete 4", "delete 1 2", "delete 1,3", "delete 1-2", "delete 3-1", "delete 1-9", "delete 1-", "delete -1", "delete x", "delete 1-x", "delete breakpoints", "delete breakpoints 1", "delete b 2", "delete watchpoints", "delete watchpoints 3", "delete w 3", "delete w",
		"disable", "disable 1", "disable w 3", "disable breakpoints 1-3", "disable 9", "enable 2", "enable 1-2", "enable w",
		"commands 1 print 1; ; end; print 2", "commands print 3", "commands 9 print 1", "commands 3 ; ", "condition 1 $r1", "condition 9 $r1", "condition 1", "ignore 1 2", "ignore 1 x", "ignore 9 1", "tbreak *9", "break *99999", "break none", "watch 1", "rwatch $r1", "awatch *(int *)$r10",
	} {
		var out bytes.Buffer
		r := New(session(t, "examples/xdp/xdp.bpf.o"), Config{Out: &out})
		for _, l := range []string{"run", "break *5", "break *7", "watch $r2", line, "info breakpoints", "continue", "continue", "continue"} {
			if err := r.Execute(t.Context(), l); err != nil {
				fmt.Fprintf(&out, "error: %v\n", err)
			}
		}
		all.Add(line, line+"\t"+out.String())
	}
	all.Compare(t, filepath.Join("testdata", "points.txt"))
}
