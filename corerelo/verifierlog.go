package corerelo

import (
	"bufio"
	"errors"
	"fmt"
	"github.com/bpfrun/bpfrun/internal/lazyre"
	"io"
	"strconv"
	"strings"
)

// LogEntry is a mention of a poisoned instruction in a verifier's or libbpf's log.
type LogEntry struct {
	Line int    // from 1
	Text string // the line without surrounding white space
	// Program is named by an earlier line, or "".
	Program string
	// Insn is the instruction's index in the program as loaded, or -1 if the log does not contain
	// it.
	Insn int
	Kind PoisonKind
	// Index is the number of the map or extern in the poison call, or -1 if the log names it
	// instead.
	Index int
	// Spec is the relocation in libbpf's notation, "<byte_off> [26] struct task_struct.state (0:7 @
	// offset 40)"; "" in the kernel's own log.
	Spec string
	// Name is the map or kfunc, if libbpf names it.
	Name string
}

// Patterns of log lines. The kernel prints "15: (85) call unknown#195896080" and "invalid func
// unknown#195896080"; libbpf from 1.0 on replaces them with "15: <invalid CO-RE relocation>";
// cilium/ebpf poisons with "r10 = 0xbad2310 ll" and names the program in its own way.
var (
	logProgram   = lazyre.New(`prog '([^']+)'|program "?([A-Za-z_][A-Za-z0-9_]*)"?: load`)
	logCall      = lazyre.New(`(?:(\d+): \([0-9a-f]{2}\) call )?unknown#(\d+)`)
	logImm64     = lazyre.New(`(\d+): \(18\) r10 = (?:0x0*bad2310|195896080)\b`)
	logFixup     = lazyre.New(`(\d+): <invalid (CO-RE relocation|BPF map reference|kfunc call)>`)
	logFixupSpec = lazyre.New(`failed to resolve CO-RE relocation (<[a-z0-9_]+> .*\S)`)
	logFixupMap  = lazyre.New(`BPF map '([^']+)' is referenced but wasn't created`)
	logFixupFunc = lazyre.New(`kfunc '([^']+)' is referenced but wasn't resolved`)
)

// maxLogLine limits the length of lines in bytes; the verifier's own are far shorter.
const maxLogLine = 1 << 20

// ErrLogLine reports a line that is longer than any real log line.
var ErrLogLine = errors.New("line too long for a log")

// ParseLog finds the poisoned instructions that a log mentions, each one once.
func ParseLog(r io.Reader) ([]LogEntry, error) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLogLine)
	var p logParser
	for n := 1; s.Scan(); n++ {
		p.line(n, strings.TrimSpace(s.Text()))
	}
	if err := s.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return nil, fmt.Errorf("%w: more than %d bytes", ErrLogLine, maxLogLine)
		}
		return nil, err
	}
	return p.found, nil
}

type logParser struct {
	program string
	found   []LogEntry
	open    *LogEntry // a fix-up whose second line has not been read yet
	insn    int       // of the last call of an unknown function
	imm     int
	seen    bool // such a call has been seen
}

func (p *logParser) line(n int, text string) {
	if m := logProgram.FindStringSubmatch(text); m != nil {
		if name := m[1] + m[2]; name != p.program {
			p.program, p.seen = name, false
		}
	}
	if p.second(text) {
		return
	}
	if m := logFixup.FindStringSubmatch(text); m != nil {
		e := LogEntry{Line: n, Text: text, Program: p.program, Insn: number(m[1]), Kind: fixupKind(m[2]), Index: -1}
		p.open = p.add(e)
		return
	}
	if m := logImm64.FindStringSubmatch(text); m != nil {
		p.add(LogEntry{Line: n, Text: text, Program: p.program, Insn: number(m[1]), Kind: PoisonCORE, Index: -1})
		return
	}
	m := logCall.FindStringSubmatch(text)
	if m == nil {
		return
	}
	imm := number(m[2])
	kind, index, ok := parsePoisonImm(imm)
	if !ok {
		return
	}
	e := LogEntry{Line: n, Text: text, Program: p.program, Insn: -1, Kind: kind, Index: index}
	switch {
	case m[1] != "":
		e.Insn = number(m[1])
		p.insn, p.imm, p.seen = e.Insn, imm, true
	case p.seen && p.imm == imm: // "invalid func" after the instruction
		return
	}
	if kind == PoisonCORE {
		e.Index = -1
	}
	p.add(e)
}

// second handles the line after a fix-up.
func (p *logParser) second(text string) bool {
	if p.open == nil {
		return false
	}
	e := p.open
	switch {
	case logFixupSpec.MatchString(text):
		e.Spec = logFixupSpec.FindStringSubmatch(text)[1]
	case logFixupMap.MatchString(text):
		e.Name = logFixupMap.FindStringSubmatch(text)[1]
	case logFixupFunc.MatchString(text):
		e.Name = logFixupFunc.FindStringSubmatch(text)[1]
	default:
		return false
	}
	p.open = nil
	return true
}

// add appends an entry unless it already has one for that instruction.
func (p *logParser) add(e LogEntry) *LogEntry {
	p.open = nil
	for i := range p.found {
		f := &p.found[i]
		if f.Program == e.Program && f.Insn == e.Insn && f.Kind == e.Kind && f.Index == e.Index {
			return f
		}
	}
	p.found = append(p.found, e)
	return &p.found[len(p.found)-1]
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

func fixupKind(words string) PoisonKind {
	for k := PoisonCORE; int(k) < len(poisonNames); k++ {
		if poisonNames[k] == "invalid "+words {
			return k
		}
	}
	return NotPoison
}
