package main

import (
	"github.com/bpfrun/bpfrun/internal/app/report"
	"io"
)

// published lists the documents of all commands. Those of conformance are defined here, since
// package report does not know their contents.
func published() []report.Published {
	return append(report.PublishedDocuments(),
		report.Published{Command: "fire", Doc: fireDocument{}},
		report.Published{Command: "cover merge", Doc: coverDocument{}},
		report.Published{Command: "conformance isa", Doc: comparisonDocument{}},
		report.Published{Command: "conformance core", Doc: comparisonDocument{}},
		report.Published{Command: "conformance kernel", Doc: comparisonDocument{}},
		report.Published{Command: "conformance btf", Doc: comparisonDocument{}},
		report.Published{Command: "conformance generate", Doc: comparisonDocument{}},
		report.Published{Command: "conformance verdicts", Doc: verdictsDocument{}},
		report.Published{Command: "conformance decode", Doc: decodeDocument{}},
		report.Published{Command: "conformance corpus", Doc: corpusDocument{}},
	)
}

// comparisonDocument is the JSON of the conformance commands that compare individual results, for
// all files together. Differences lists the entries of the text output: one for each failure and
// each deliberate deviation. Skipped cases were not run, or the kernel refuses to load them.
type comparisonDocument struct {
	Schema      string   `json:"schema"`
	Exit        int      `json:"exit"`
	Passed      uint64   `json:"passed"`
	Failed      uint64   `json:"failed"`
	Skipped     uint64   `json:"skipped"`
	Deviations  uint64   `json:"deviations,omitempty"`
	Differences []string `json:"differences"`
}

// verdictsDocument is the JSON of conformance verdicts.
type verdictsDocument struct {
	Schema  string          `json:"schema"`
	Exit    int             `json:"exit"`
	Kernels []verdictCounts `json:"kernels"`
	// Differences lists the entries of the text output; -v adds in what equal verdicts
	// differ.
	Differences []string   `json:"differences"`
	Logs        *logCounts `json:"logs,omitempty"` // with --logs
	Runs        *runCounts `json:"runs,omitempty"` // with --inputs
}

// verdictCounts are the verdicts on a kernel's recordings. NotJudged programs never reached that
// kernel's verifier; all others are Judged.
type verdictCounts struct {
	Kernel        string `json:"kernel"`
	Judged        int    `json:"judged"`
	NotJudged     int    `json:"not_judged"`
	Agree         int    `json:"agree"`
	FalseAccepts  int    `json:"false_accepts"`
	FalseRefusals int    `json:"false_refusals"`
	CannotSay     int    `json:"cannot_say"`
	Failed        int    `json:"failed"`
	BothRefuse    int    `json:"both_refuse"`
	SameClass     int    `json:"same_class"` // refused by both for the same class of reason
	SameText      int    `json:"same_text"`
	BothAccept    int    `json:"both_accept"`
	Counted       int    `json:"counted"` // accepted by both, with the kernel's number of instructions processed
	SameCount     int    `json:"same_count"`
	Within5       int    `json:"within_5_percent"`
	Within1_5     int    `json:"within_factor_1_5"`
}

// logCounts is the result of comparing logs line by line.
type logCounts struct {
	Programs   int `json:"programs"`
	Same       int `json:"same"`
	Lines      int `json:"lines"`
	EqualLines int `json:"equal_lines"`
}

// runCounts is the result of running accepted programs with random inputs.
type runCounts struct {
	Inputs         int `json:"inputs"` // per program
	Run            int `json:"run"`
	NotSimulated   int `json:"not_simulated"`
	Contradictions int `json:"contradictions"`
}

// findings receives the findings of a conformance command, one per call of Write. It is standard
// output, or with --json a list.
type findings struct {
	*console

	list []string
}

func (f *findings) Write(p []byte) (int, error) {
	if !f.json {
		return f.stdout.Write(p)
	}
	text := string(p)
	for len(text) > 0 && text[len(text)-1] == '\n' {
		text = text[:len(text)-1]
	}
	f.list = append(f.list, text)
	return len(p), nil
}

// compared finishes a comparison: it sets the exit code, and writes the document or the summary
// line.
func (f *findings) compared(doc comparisonDocument, summary string) error {
	if doc.Failed > 0 {
		f.code = exitExpectation
	}
	if !f.json {
		_, err := io.WriteString(f.stdout, summary+"\n")
		return err
	}
	doc.Schema, doc.Exit, doc.Differences = report.Schema, f.code, f.entries()
	return report.WriteJSON(f.stdout, doc)
}

// entries returns the findings so far for a document, never nil.
func (f *findings) entries() []string { return append([]string{}, f.list...) }
