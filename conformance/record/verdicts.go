package record

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/conformance/verdicts"
	"github.com/bpfrun/bpfrun/loader"
)

// VerdictConfig configures the recording of verdicts.
type VerdictConfig struct {
	// Only, if not empty, lists the programs to verify.
	Only map[string]bool
	// Limit is the verifier's time limit per program; 0 means no limit.
	Limit time.Duration
	// Where requests that refused programs be loaded again with a log that shows the instruction.
	Where bool
	// Mutations is the number of mutants to verify of each program; Seed determines them. If it is
	// not 0, the program itself is left out.
	Mutations int
	Seed      uint64
	// Repeat is the number of additional loads of accepted programs, from which the shortest
	// verification time is kept.
	Repeat int
	// Log requests that programs with a verdict be loaded again to record a log of level 2.
	Log bool
	// Name is the path of the object in the recording; SHA256 is its hash.
	Name, SHA256 string
}

// variants returns the lines to fill in for a program: one, or one for each mutant.
func (cfg *VerdictConfig) variants(p *loader.LinkedProgram, l *verdicts.Line) []*verdicts.Line {
	if cfg.Mutations == 0 {
		return []*verdicts.Line{l}
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s:%s", cfg.Name, p.Name)
	rng := rand.New(rand.NewPCG(cfg.Seed, h.Sum64()))
	var out []*verdicts.Line
	for i := range cfg.Mutations {
		patches := verdicts.Mutate(rng, p.Insns, func(pc int) bool { _, is := p.Refs[pc]; return is })
		if len(patches) == 0 {
			continue
		}
		v := *l
		v.Patches, v.Variant = patches, i+1
		out = append(out, &v)
	}
	return out
}

// maxMessages and maxMessage limit the number of log messages that a line keeps, and their length.
const maxMessages, maxMessage = 8, 300

// chatter lists prefixes of log lines that are not error messages.
var chatter = []string{
	"processed ", "verification time", "stack depth", "insns processed", "Validating ", "Func#", "mark_precise", "func#", "Arg#", "Global function", "old state:", "cur state:",
}

// readLog extracts messages and statistics from a log of level 4.
func readLog(l *verdicts.Line, log string) {
	for text := range strings.SplitSeq(log, "\n") {
		text = strings.TrimRight(text, " \r")
		if text == "" || readStats(&l.Stats, text) || startsWithAny(text, chatter) {
			continue
		}
		if len(text) > maxMessage {
			text = text[:maxMessage]
		}
		l.Messages = append(l.Messages, text)
	}
	n := len(l.Messages)
	if n == 0 {
		return
	}
	l.Reason = l.Messages[n-1]
	l.Messages = l.Messages[max(0, n-maxMessages):]
	if n == 1 {
		l.Messages = nil
	}
}

func startsWithAny(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// readStats parses a line of statistics: "verification time N usec", "stack depth ..." or
// "processed N insns (limit N) max_states_per_insn N total_states N peak_states N ...". It returns
// false for any other line.
func readStats(s *verdicts.Stats, text string) bool {
	if rest, ok := strings.CutPrefix(text, "verification time "); ok {
		if n, err := strconv.Atoi(strings.TrimSuffix(rest, " usec")); err == nil {
			s.Usec = &n
		}
		return true
	}
	if rest, ok := strings.CutPrefix(text, "stack depth "); ok {
		s.StackDepth, _, _ = strings.Cut(rest, " ")
		return true
	}
	f := strings.Fields(text)
	if len(f) < 3 || f[0] != "processed" || f[2] != "insns" {
		return false
	}
	for i, word := range f[:len(f)-1] {
		n, err := strconv.Atoi(f[i+1])
		if err != nil {
			continue
		}
		switch word {
		case "processed":
			s.Processed = &n
		case "max_states_per_insn":
			s.MaxStates = &n
		case "total_states":
			s.Total = &n
		case "peak_states":
			s.Peak = &n
		}
	}
	return true
}

// lastInsn returns the last instruction in a log of level 1, whose lines are "12: (85) call ..." or
// "12: R0=... (85) call ...".
func lastInsn(log string) (int, bool) {
	lines := strings.Split(log, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		before, after, ok := strings.Cut(lines[i], ": ")
		if !ok || !strings.Contains(after, "(") {
			continue
		}
		n, err := strconv.Atoi(before)
		if err != nil || n < 0 {
			continue
		}
		if at := strings.Index(after, "("); at+3 < len(after) && after[at+3] == ')' {
			return n, true
		}
	}
	return 0, false
}

// classify determines which stage refused a load, after its log was read.
func classify(l *verdicts.Line) {
	l.Verdict, l.Class = verdicts.Refused, verdicts.ByVerifier
	switch {
	case strings.Contains(l.Reason, "unknown#195896080"):
		l.Verdict, l.Class, l.Note = verdicts.Skipped, verdicts.ByCORE, "a poisoned CO-RE instruction is reached"
	case strings.Contains(l.Reason, "unknown#2002"), strings.Contains(l.Reason, "unknown#2001"):
		l.Verdict, l.Class, l.Note = verdicts.Skipped, verdicts.ByEnv, "reaches a kfunc or map that this kernel lacks"
	case l.Reason != "":
	case l.Errno == "EPERM":
		l.Verdict, l.Class, l.Note = verdicts.Skipped, verdicts.ByEnv, "the load is not permitted"
	case l.Processed != nil && *l.Processed > 0:
		l.Note = "the verifier refuses without a message"
	default:
		l.Verdict, l.Class = verdicts.Skipped, verdicts.ByEnv
		l.Note = "the kernel refuses the load before verification (unknown program type, attach type, flag or attach target)"
	}
}
