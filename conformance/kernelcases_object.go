package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// JudgeCases is like [Cases], but takes an object and cases that are already in memory.
func JudgeCases(ctx context.Context, obj *loader.Object, target *loader.Target, file *CaseFile, w io.Writer) (*CasesResult, error) {
	r := &caseRunner{file: file, object: obj, target: target, types: object.NewTypes()}
	return r.judgeAll(ctx, w)
}

// Replay runs a case and returns the outcome of each run in the format of a record. It fails if the
// case cannot be set up or a run does not complete.
func Replay(ctx context.Context, obj *loader.Object, target *loader.Target, file *CaseFile, c *Case) ([]RunExpect, error) {
	r := &caseRunner{file: file, object: obj, target: target, types: object.NewTypes()}
	m, err := r.machine(c)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	if err := r.prepare(m, c); err != nil {
		return nil, err
	}
	out := &outcome{m: m, ringbuf: map[string][]HexBytes{}, perf: map[string][]HexBytes{}}
	var runs []RunExpect
	for i := range c.Runs {
		res, err := r.run(ctx, m, &c.Runs[i], out)
		var errno uapi.Errno
		switch {
		case errors.As(err, &errno) && res == nil:
			runs = append(runs, RunExpect{Errno: CaseErrno(errno)})
			continue
		case err != nil:
			return runs, fmt.Errorf("run %d: %w", i, err)
		case !res.Ran:
			return runs, fmt.Errorf("run %d: %s", i, res.Status)
		case res.Fault != nil:
			return runs, fmt.Errorf("run %d: %s", i, faultText(res.Fault))
		}
		ret, data := uint32(res.Ret), HexBytes(res.DataOut)
		runs = append(runs, RunExpect{Ret: &ret, DataOut: &data})
	}
	return runs, nil
}
