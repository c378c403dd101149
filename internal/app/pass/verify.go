package pass

import (
	"context"
	"io"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/subsys"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/internal/verifier/mend"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// Link links an object for a target, to run it or to look at it.
func Link(obj *loader.Object, target *loader.Target, opts loader.LoadOptions) (*loader.Linked, error) {
	return obj.Load(target, subsys.Options(obj, target, opts))
}

// VerifyOptions are how programs are verified.
type VerifyOptions struct {
	// Load are the options of the object.
	Load     loader.LoadOptions
	Lockdown proto.Lockdown
	// Log receives the log as the kernel writes it, at LogLevel; nil for none.
	Log      io.Writer
	LogLevel int
	// Costs asks for the costs of each verification.
	Costs bool
	// Each is called after the verdict on each program has been added to the document; it may be
	// nil.
	Each func(context.Context, *report.VerifyDocument, *Judged) error
}

// Judged is the verification of a program.
type Judged struct {
	Linked  *loader.Linked
	Program *loader.LinkedProgram
	Kernel  *verifier.Kernel
	Input   *verifier.Program
	Verdict *verifier.Verdict
	Costs   *verifier.Costs // nil unless they were asked for
}

// Verify returns the verdicts of a target's verifier on the named programs of an object, of which
// nothing runs. source names where the kernel's types are from. The error is an [*Interrupted], a
// [verifier.ErrProgram], or that of linking the object.
func Verify(ctx context.Context, obj *loader.Object, target *loader.Target, source string, names []string, opt VerifyOptions) (*report.VerifyDocument, error) {
	opts := opt.Load
	opts.LinkOnly, opts.Only = true, names
	linked, err := obj.Load(target, opts)
	if err != nil {
		return nil, err
	}
	doc := report.NewVerifyDocument(linked, source)
	kernel := verifier.KernelOf(linked.Target)
	kernel.Lockdown = opt.Lockdown
	for _, name := range names {
		lp, ok := linked.Program(name)
		if !ok {
			continue
		}
		p, err := verifier.FromLinked(linked, lp)
		if err != nil {
			doc.AddUnlinked(lp, kernel.Release.String(), err)
			doc.Exit = exitcode.Worse(doc.Exit, exitcode.Load)
			continue
		}
		var vo verifier.Options
		if opt.Log != nil {
			visible.Fprintf(opt.Log, "%s:\n", lp.Name)
			vo.Log, vo.LogLevel = opt.Log, opt.LogLevel
		}
		if opt.Costs {
			vo.Costs = &verifier.Costs{}
		}
		v, err := verifier.Verify(ctx, kernel, p, vo)
		if err != nil {
			return nil, interrupted(ctx, err, "while verifying "+name)
		}
		if opt.Log != nil {
			visible.Fprintln(opt.Log)
		}
		history, err := verifier.RefusalHistory(ctx, kernel, p, v)
		if err != nil {
			return nil, interrupted(ctx, err, "while verifying "+name)
		}
		doc.Add(lp, kernel.Release.String(), v, history)
		if opt.Each != nil {
			if err := opt.Each(ctx, doc, &Judged{linked, lp, kernel, p, v, vo.Costs}); err != nil {
				return nil, interrupted(ctx, err, "while explaining the verdict on "+name)
			}
		}
		switch v.Outcome {
		case verifier.Refused:
			doc.Exit = exitcode.Worse(doc.Exit, exitcode.Load)
		case verifier.Unknown:
			doc.Exit = exitcode.Worse(doc.Exit, exitcode.NotSimulated)
		}
	}
	opts.LinkOnly = false
	if whole, err := obj.Load(target, opts); err == nil { // else the document has the error
		doc.NotLoaded(whole)
	}
	return doc, nil
}

// Mend adds to the verdict on a program what would mend a refusal. names are those of variables in
// registers; it may be nil.
func Mend(ctx context.Context, doc *report.VerifyDocument, j *Judged, names mend.Names) error {
	change, err := mend.Suggest(ctx, j.Kernel, j.Input, j.Verdict, names)
	if err != nil {
		return err
	}
	doc.Mend(change)
	return nil
}
