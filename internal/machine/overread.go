package machine

import "github.com/bpfrun/bpfrun/internal/machine/finding"

// overread adds the finding of a read past the end of an object, once for each line: compilers
// unroll loops.
func (rec *recorder) overread(text string) {
	st := rec.run
	p, ok := owner(rec.thread.Image())
	pc := rec.thread.PC()
	if !ok || pc >= len(p.lp.Insns) {
		st.warn(text)
		return
	}
	source, line := p.lineOf(pc)
	for _, f := range st.result.Findings {
		if f.Kind == finding.Overread && f.Program == p.lp.Name && (f.Insn == pc || f.Source == source && source != "") {
			return
		}
	}
	st.result.Findings = append(st.result.Findings, finding.Finding{Kind: finding.Overread, Program: p.lp.Name, Insn: pc, Source: source, Line: line, Text: text})
}

// overreads reports whether reads past the end of objects are no mistakes of the running program:
// --strict does not stop it for what is ignored.
func (rec *recorder) overreads() bool {
	p, ok := owner(rec.thread.Image())
	return ok && finding.Silenced(rec.cfg.Ignore, finding.Overread, p.lp.Name)
}
