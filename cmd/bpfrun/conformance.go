package main

import (
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/conformance/isa"
	"github.com/bpfrun/bpfrun/conformance/result"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// conformanceCommand is the group of commands that compare bpfrun with other implementations.
func newConformanceCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Compare bpfrun with kernels, the public test suite and a reference evaluator",
		Args:  noSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConformanceISACommand(a), newConformancePluginCommand(a), newConformanceGenerateCommand(a), newConformanceRecordCommand(a),
		newConformanceDecodeCommand(a), newConformanceCorpusCommand(a), newConformanceKernelCommand(a))
	cmd.AddCommand(newConformanceCoreCommand(a), newConformanceVerdictsCommand(a), newConformanceBTFCommand(a))
	return cmd
}

// conformanceISACommand is bpfrun conformance isa.
type conformanceISACommand struct {
	*console
	sim *machineFlags
}

func newConformanceISACommand(a *app) *cobra.Command {
	c := &conformanceISACommand{console: &a.console, sim: &a.sim}
	return &cobra.Command{
		Use:     "isa FILE.jsonl[.gz]...",
		Example: "  bpfrun conformance isa conformance/isa/testdata/*.jsonl.gz",
		Short:   "Run recorded programs and compare map value and result",
		Long: `Run recorded programs and compare map value and result.

Lines are kernel vectors {id, p, pkt?, runs: [{in, out, ret}]} or those of the public
bpf_conformance suite {name, code, mem, expect}. One line is printed for each failure; the
last line reads "N passed, M failed". Exit code 1 if any failed.`,
		Args: atLeast(1),
		RunE: func(_ *cobra.Command, args []string) error {
			modes, err := c.sim.isaModes()
			if err != nil {
				return err
			}
			total := result.Result{}
			found := &findings{console: c.console}
			for _, path := range args {
				for _, mode := range modes {
					r, err := isa.Judge(path, isa.Config{Mode: mode, Limit: c.sim.maxInsns}, found)
					if err != nil {
						return codeError{exitUsage, err}
					}
					total.Passed += r.Passed
					total.Failed += r.Failed
				}
			}
			return found.compared(comparisonDocument{Passed: uint64(total.Passed), Failed: uint64(total.Failed)}, total.Summary())
		},
	}
}

// conformancePluginCommand is bpfrun conformance plugin.
type conformancePluginCommand struct {
	*console
	sim *machineFlags
}

func newConformancePluginCommand(a *app) *cobra.Command {
	c := &conformancePluginCommand{console: &a.console, sim: &a.sim}
	cmd := &cobra.Command{
		Use:     "plugin [MEMORY]",
		Example: "  echo 'b7 00 00 00 07 00 00 00 95 00 00 00 00 00 00 00' | bpfrun conformance plugin",
		Short:   "The plugin protocol of the public bpf_conformance suite",
		Long: `The plugin protocol of the public bpf_conformance suite: the program as hex bytes on standard
input, the memory r1 points to as an argument of hex bytes, r0 in hex on standard output.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			modes, err := c.sim.isaModes()
			if err != nil {
				return err
			}
			memory := ""
			if len(args) > 0 {
				memory = args[0]
			}
			err = isa.Plugin(memory, cmd.InOrStdin(), isa.Config{Mode: modes[len(modes)-1], Limit: c.sim.maxInsns}, c.stdout)
			if err != nil {
				return codeError{pluginCode(err), err}
			}
			return nil
		},
	}
	return cmd
}

// pluginCode returns the exit code of a plain program that did not end normally.
func pluginCode(err error) int {
	var refused *isa.Refused
	var faulted *isa.Faulted
	var input *result.InputError
	switch {
	case errors.As(err, &refused):
		return exitLoad
	case errors.As(err, &faulted):
		if faulted.NotSimulated() {
			return exitNotSimulated
		}
		return exitFault
	case errors.As(err, &input):
		return exitUsage
	}
	return exitBug
}

// decodeDocument is the JSON of conformance decode.
type decodeDocument struct {
	Schema  string             `json:"schema"`
	Exit    int                `json:"exit"`
	Error   any                `json:"error"`
	Results []isa.DecodeResult `json:"results"`
	// Agreement is set if the input contains verdicts of a kernel.
	Agreement *decodeAgreement `json:"agreement,omitempty"`
}

type decodeAgreement struct {
	Agree     int `json:"agree"`
	Disagree  int `json:"disagree"`
	NotJudged int `json:"not_judged"`
}

// conformanceDecodeCommand is bpfrun conformance decode.
type conformanceDecodeCommand struct {
	*console
	kernels *kernelFlags
}

func newConformanceDecodeCommand(a *app) *cobra.Command {
	c := &conformanceDecodeCommand{console: &a.console, kernels: &a.kernels}
	return &cobra.Command{
		Use:     "decode FILE.jsonl[.gz]",
		Example: "  bpfrun conformance decode kernel-6.18-programs.jsonl.gz",
		Short:   "Apply the structural load checks to programs and compare with a kernel's verdicts",
		Long: `Apply the structural load checks to programs.

Lines are {id, p, ok?, why?} with the program p in hex. Where the input has the kernel's verdict ok,
agreement is counted; refusals for register types are not structural and are ignored. The kernel is that of
--kernel-version, else the one in the file's name (kernel-6.18-...), else 6.18.`,
		Args: exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			var kernel decode.Version
			if c.kernels.version != "" {
				_, v, ok := loader.ParseRelease(c.kernels.version)
				if !ok {
					return usagef("--kernel-version %q: want MAJOR.MINOR or MAJOR.MINOR.PATCH", c.kernels.version)
				}
				kernel = decode.Version(v)
			}
			r, err := isa.Decode(args[0], kernel)
			if err != nil {
				return codeError{exitUsage, err}
			}
			if r.Disagree > 0 {
				c.code = exitExpectation
			}
			return c.printVerdicts(r)
		},
	}
}

func (c *conformanceDecodeCommand) printVerdicts(r *isa.DecodeReport) error {
	if c.json {
		doc := decodeDocument{Schema: report.Schema, Exit: c.code, Results: r.Results}
		if doc.Results == nil {
			doc.Results = []isa.DecodeResult{}
		}
		if r.Asked > 0 {
			doc.Agreement = &decodeAgreement{r.Agree, r.Disagree, r.NotStructural}
			visible.Fprintln(c.stderr, r.Summary())
		}
		return json.NewEncoder(visible.JSON{W: c.stdout}).Encode(doc)
	}
	for _, res := range r.Results {
		switch {
		case res.Judged && !res.Agrees:
			visible.Fprintf(c.stdout, "%s: kernel says %q, bpfrun %q\n", res.ID, verdictText(!res.OK, res.Kernel), verdictText(res.OK, res.Why))
		case r.Asked == 0:
			visible.Fprintf(c.stdout, "%s: %s\n", res.ID, verdictText(res.OK, res.Why))
		}
	}
	if r.Asked > 0 {
		visible.Fprintln(c.stdout, r.Summary())
	}
	return nil
}

func verdictText(ok bool, why string) string {
	if ok {
		return "ok"
	}
	return why
}
