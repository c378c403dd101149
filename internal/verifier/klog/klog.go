package klog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/lazyre"
)

// Log is the verifier's log of one program.
type Log struct {
	// Program is the name printed by the loader, or "".
	Program string
	// Message is the verifier's last line about the program: the reason for a refusal, or "".
	Message string
	// Messages are all lines after the last instruction; Message is the last of them.
	Messages []string
	// Errno is the load's error as the loader prints it ("Permission denied", "-EACCES"), or "".
	Errno string
	// Steps are the instructions on the path to the end of the log, the last verified one at the
	// end. Paths that the log contains before that are left out if the log shows where they end.
	Steps []Step
	// Processed is the number of instructions in "processed N insns", or -1.
	Processed int
	// Line is the number of the log's first line in the input, from 1.
	Line int
}

// Step is an instruction in the log.
type Step struct {
	Insn int
	Code uint8  // opcode byte
	Text string // as the kernel disassembles it
	// Before and After are the registers and stack as the kernel prints them: before the
	// instruction, all of them or those changed last; after it, those it changed.
	Before, After string
	// Source is the source line printed above it; File and SourceLine are its position if the log
	// contains it (from 6.8 on).
	Source, File string
	SourceLine   int
}

// Last returns the instruction at which the log ends, or -1.
func (l *Log) Last() int {
	if len(l.Steps) == 0 {
		return -1
	}
	return l.Steps[len(l.Steps)-1].Insn
}

// ErrTooLong means that a line, or the log, is longer than any kernel writes.
var ErrTooLong = errors.New("the log is too long")

// Limits of what is read. The kernel's largest log is 1 GiB, but logs that are kept have at most
// some megabytes.
const (
	maxLog  = 256 << 20
	maxLine = 1 << 20
	// keptSteps limits the steps stored per path.
	keptSteps = 1 << 16
)

var (
	reInsn    = lazyre.New(`^(\d+): \(([0-9a-f]{2})\) (.*)$`)
	reState   = lazyre.New(`^(\d+): ((?:frame\d+: ?)?(?:R\d+|fp-\d+|refs=).*)$`)
	reFrom    = lazyre.New(`^from (\d+) to (\d+)(?: \(speculative execution\))?: ?(.*)$`)
	reSafe    = lazyre.New(`^(?:from \d+ to )?\d+(?: \(speculative execution\))?: safe$`)
	reSource  = lazyre.New(`^; (.*?)(?: @ ([^ :]+):(\d+))?$`)
	reDone    = lazyre.New(`^processed (\d+) insns`)
	rePoison  = lazyre.New(`^(\d+): (<invalid .*>)$`)
	reLibbpf  = lazyre.New(`prog '([^']+)':(?: BPF program load failed: (.+))?`)
	reBegin   = lazyre.New(`-- BEGIN (?:PROG LOAD|DUMP) LOG --`)
	reEnd     = lazyre.New(`-- END (?:PROG LOAD )?LOG --`)
	reCilium  = lazyre.New(`(?:program "?([A-Za-z_][A-Za-z0-9_]*)"?: )?load program: ([^:]+):(?:\s+(.*))?$`)
	reAya     = lazyre.New(`BPF_PROG_LOAD.* syscall (?:returned|failed) ?(.*?)\.? Verifier output: ?(.*)$`)
	reOmitted = lazyre.New(`^(.*) \(\d+ line\(s\) omitted\)$`)
	// reOther matches lines that are neither instructions nor messages.
	reOther = lazyre.New(`^(func#\d+ @\d+|Validating .*|Func#\d+ .*is safe.*|mark_precise:.*|last_idx .*|first_idx .*|regs=.*|parent .*|caller:|callee:|returning from callee:|to caller at \d+:|` +
		`cur state:.*|old state:.*|verification time .*|stack depth .*|insns processed .*|propagating .*|Live regs before insn:|\s*\d+: [.0-9]{10} .*|frame ?\d+:.*|R\d+(_[rwP]+)?=.*|from \d+ to .*|\d+: *)$`)
)

// Parse parses the logs of all programs in a text and skips the text around them.
func Parse(r io.Reader) ([]*Log, error) {
	p := parser{}
	in := bufio.NewScanner(io.LimitReader(r, maxLog+1))
	in.Buffer(nil, maxLine)
	size := 0
	for n := 1; in.Scan(); n++ {
		if size += len(in.Bytes()) + 1; size > maxLog {
			return nil, ErrTooLong
		}
		p.line(n, strings.TrimRight(in.Text(), " \r"))
	}
	if err := in.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("%w: a line has more than %d bytes", ErrTooLong, maxLine)
		}
		return nil, err
	}
	p.end()
	return p.logs, nil
}

type parser struct {
	logs []*Log
	cur  *Log

	program, errno string // named by the loader, for the next log
	inside         bool   // between BEGIN and END
	source         Step   // source line printed above the next instruction
	before         string // state printed before the next instruction
}

// log returns the log that a line belongs to.
func (p *parser) log(n int) *Log {
	if p.cur == nil {
		p.cur = &Log{Program: p.program, Errno: p.errno, Processed: -1, Line: n}
		p.logs = append(p.logs, p.cur)
	}
	return p.cur
}

// end closes the current log.
func (p *parser) end() {
	if p.cur != nil && p.cur.Message == "" && len(p.cur.Steps) == 0 && p.cur.Processed < 0 {
		p.logs = p.logs[:len(p.logs)-1] // contains nothing from a verifier
	}
	p.cur, p.source, p.before = nil, Step{}, ""
}

func (p *parser) line(n int, text string) {
	if p.loader(n, text) {
		return
	}
	text = strings.TrimLeft(text, "\t ")
	if m := reOmitted.FindStringSubmatch(text); m != nil {
		p.message(n, m[1])
		p.end()
		return
	}
	switch {
	case text == "":
	case reInsn.MatchString(text):
		p.insn(n, reInsn.FindStringSubmatch(text))
	case rePoison.MatchString(text):
		m := rePoison.FindStringSubmatch(text)
		p.insn(n, []string{"", m[1], "85", m[2]})
		p.message(n, m[2])
	case reSafe.MatchString(text):
		p.cut(n)
	case reFrom.MatchString(text):
		m := reFrom.FindStringSubmatch(text)
		p.cut(n)
		p.back(number(m[1]))
		p.before = m[3]
	case reState.MatchString(text):
		m := reState.FindStringSubmatch(text)
		l := p.log(n)
		if k := len(l.Steps); k > 0 && l.Steps[k-1].Insn == number(m[1]) {
			l.Steps[k-1].After = m[2]
		} else {
			p.before = m[2]
		}
	case reSource.MatchString(text) && (p.cur != nil || p.inside):
		m := reSource.FindStringSubmatch(text)
		p.source = Step{Source: m[1], File: m[2], SourceLine: number(m[3])}
	case reDone.MatchString(text):
		p.log(n).Processed = number(reDone.FindStringSubmatch(text)[1])
		if !p.inside {
			p.end()
		}
	case reOther.MatchString(text):
	case p.cur != nil || p.inside:
		p.message(n, text)
	}
}

func (p *parser) message(n int, text string) {
	l := p.log(n)
	l.Message, l.Messages = text, append(l.Messages, text)
}

// loader parses lines in which loaders name programs and errors.
func (p *parser) loader(n int, text string) bool {
	switch {
	case reBegin.MatchString(text):
		p.end()
		p.inside = true
		if m := reLibbpf.FindStringSubmatch(text); m != nil {
			if p.program != m[1] {
				p.errno = ""
			}
			p.program = m[1]
		}
		return true
	case reEnd.MatchString(text):
		p.end()
		p.inside, p.program, p.errno = false, "", ""
		return true
	case reCilium.MatchString(text):
		m := reCilium.FindStringSubmatch(text)
		p.end()
		p.program, p.errno = m[1], m[2]
		p.log(n)
		p.rest(n, m[3])
		return true
	case reAya.MatchString(text):
		m := reAya.FindStringSubmatch(text)
		p.end()
		p.errno = m[1]
		p.log(n)
		p.rest(n, m[2])
		return true
	case strings.HasPrefix(text, "libbpf:"):
		if m := reLibbpf.FindStringSubmatch(text); m != nil && !p.inside {
			p.program = m[1]
			if m[2] != "" {
				p.errno = strings.TrimSpace(m[2])
			}
		}
		return true
	}
	return false
}

// rest parses the verifier's text on a loader's own line: the first line of the log or, with
// cilium/ebpf's %v, the last ones, separated by colons ("7: (79) r1 = *(u64 *)(r0 +0): R0 invalid
// mem access 'scalar' (12 line(s) omitted)").
func (p *parser) rest(n int, text string) {
	omitted := reOmitted.FindStringSubmatch(text)
	if omitted != nil {
		text = omitted[1]
		defer p.end()
	}
	m := reInsn.FindStringSubmatch(text)
	switch {
	case m == nil && omitted != nil:
		p.message(n, text)
		return
	case m == nil && text != "":
		p.line(n, text)
		return
	case m == nil:
		return
	}
	insn, message, found := strings.Cut(m[3], ": ")
	m[3] = insn
	p.insn(n, m)
	if found {
		p.message(n, message)
	}
}

func (p *parser) insn(n int, m []string) {
	l := p.log(n)
	code, _ := strconv.ParseUint(m[2], 16, 8)
	s := p.source
	s.Insn, s.Code = number(m[1]), uint8(code)
	if k := len(l.Steps); s.Source == "" && k > 0 && l.Steps[k-1].Insn < s.Insn && p.before == "" {
		s.Source, s.File, s.SourceLine = l.Steps[k-1].Source, l.Steps[k-1].File, l.Steps[k-1].SourceLine
	}
	s.Text, s.After, _ = strings.Cut(m[3], ";")
	s.Text, s.After, s.Before = strings.TrimSpace(s.Text), strings.TrimSpace(s.After), p.before
	p.source, p.before = Step{}, ""
	if len(l.Steps) >= keptSteps {
		l.Steps = slices.Delete(l.Steps, 0, keptSteps/2)
	}
	l.Steps = append(l.Steps, s)
	l.Message, l.Messages = "", nil
}

// cut ends a path; what follows is another one.
func (p *parser) cut(n int) {
	l := p.log(n)
	l.Message, l.Messages = "", nil
	p.source, p.before = Step{}, ""
}

// back rewinds to the last time the path was at an instruction: the other branch from there
// follows.
func (p *parser) back(insn int) {
	l := p.cur
	for i := len(l.Steps) - 1; i >= 0; i-- {
		if l.Steps[i].Insn == insn {
			l.Steps = l.Steps[:i+1]
			return
		}
	}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
