package verifier

import (
	"context"
	"errors"
)

// ErrProgram: the program or the kernel given to Verify is not complete.
var ErrProgram = errors.New("verifier: program cannot be judged")

// Verify gives the verdict of kernel k on program p. Errors are those of the call: the context ended, or p is not a program at
// all; what the kernel would refuse is in the verdict.
func Verify(ctx context.Context, k *Kernel, p *Program, o Options) (*Verdict, error) {
	if k == nil || p == nil || len(p.Insns) == 0 {
		return nil, ErrProgram
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &Verdict{Outcome: Unknown, Missing: "the walk", Insn: -1}, nil
}
